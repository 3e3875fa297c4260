#include "model/gguf_tensors.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "model/gguf_fault.h"

namespace takt {
namespace {

constexpr std::uint64_t kMaxTensorNameBytes = 256;  // the format says 64; nothing here depends on it
constexpr std::uint64_t kMaxDimensions = 4;
constexpr std::uint64_t kMaxElements = std::numeric_limits<std::int64_t>::max();

// False on overflow.
bool multiply(std::uint64_t a, std::uint64_t b, std::uint64_t limit, std::uint64_t& product) {
  return !__builtin_mul_overflow(a, b, &product) && product <= limit;
}

Status measure_tensor(GgufTensor& tensor) {
  const TensorTypeInfo& info = tensor_type_info(tensor.type);
  tensor.elements = 1;
  for (const std::uint64_t extent : tensor.shape) {
    if (extent == 0) return bad_gguf_tensor(tensor.name, "has a dim of 0");
    if (!multiply(tensor.elements, extent, kMaxElements, tensor.elements)) {
      return bad_gguf_tensor(tensor.name, "is too large: the product of its dims overflows 63 bits");
    }
  }
  if (tensor.shape[0] % info.block_elements != 0) {
    return bad_gguf_tensor(tensor.name, "has rows of " + std::to_string(tensor.shape[0]) + " values; a row of type " +
                                            std::string(info.name) + " must be a multiple of its block of " +
                                            std::to_string(info.block_elements));
  }
  if (!multiply(tensor.elements / info.block_elements, info.block_bytes, kMaxElements, tensor.bytes)) {
    return bad_gguf_tensor(tensor.name, "is too large: its bytes overflow 63 bits");
  }
  return {};
}

}  // namespace

Result<GgufTensor> read_gguf_tensor(GgufCursor& cursor, std::size_t ordinal) {
  GgufTensor out;
  const std::string which = "the name of tensor " + std::to_string(ordinal);
  auto name = cursor.string(kMaxTensorNameBytes, which);
  if (!name) return name.error();
  if (name->empty()) return bad_gguf_file(which + " is empty");
  out.name = std::move(*name);
  const auto dimensions = cursor.number<std::uint32_t>();
  if (!cursor.ok()) return cursor.error();
  if (dimensions < 1 || dimensions > kMaxDimensions) {
    return bad_gguf_tensor(out.name, "has " + std::to_string(dimensions) + " dims; 1 to 4 are possible");
  }
  for (std::uint32_t i = 0; i < dimensions; ++i) out.shape.push_back(cursor.number<std::uint64_t>());
  const auto type_id = cursor.number<std::uint32_t>();
  out.file_offset = cursor.number<std::uint64_t>();  // until place_gguf_tensors: from the start of the data
  if (!cursor.ok()) return cursor.error();
  const auto type = tensor_type_from_id(type_id);
  if (!type) return bad_gguf_tensor(out.name, "has the unknown type " + std::to_string(type_id));
  out.type = *type;
  if (Status status = measure_tensor(out); !status) return status.error();
  return out;
}

Status place_gguf_tensors(std::vector<GgufTensor>& tensors, const GgufCursor& cursor, std::uint64_t alignment) {
  if (tensors.empty()) return {};
  const std::uint64_t size = cursor.position() + cursor.remaining();
  const std::uint64_t padding = (alignment - cursor.position() % alignment) % alignment;
  if (padding > cursor.remaining()) {
    return bad_gguf_file("the file is truncated: it ends before its tensor data");
  }
  const std::uint64_t start = cursor.position() + padding;
  for (GgufTensor& tensor : tensors) {
    if (tensor.file_offset % alignment != 0) {
      return bad_gguf_tensor(tensor.name, "has the offset " + std::to_string(tensor.file_offset) +
                                              ", which is not a multiple of the alignment " +
                                              std::to_string(alignment));
    }
    if (tensor.file_offset > size - start || tensor.bytes > size - start - tensor.file_offset) {
      return bad_gguf_tensor(tensor.name, "offset " + std::to_string(tensor.file_offset) + " and " +
                                              std::to_string(tensor.bytes) +
                                              " bytes reach beyond the end of the file, whose data part has " +
                                              std::to_string(size - start) + " bytes: the file is truncated or lies");
    }
    tensor.file_offset += start;
  }
  std::vector<const GgufTensor*> by_place;
  for (const GgufTensor& tensor : tensors) by_place.push_back(&tensor);
  std::sort(by_place.begin(), by_place.end(),
            [](const GgufTensor* a, const GgufTensor* b) { return a->file_offset < b->file_offset; });
  for (std::size_t i = 1; i < by_place.size(); ++i) {
    if (by_place[i - 1]->file_offset + by_place[i - 1]->bytes > by_place[i]->file_offset) {
      return bad_gguf_tensor(by_place[i]->name,
                             "its bytes overlap those of tensor " + printable(by_place[i - 1]->name));
    }
  }
  return {};
}

}  // namespace takt
