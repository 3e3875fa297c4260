// GGUF files, versions 2 and 3: typed metadata and a table of tensors. The format is llama.cpp's and ggml's
// (docs/gguf.md in ggml's repository).
//
// Nothing in a file is believed: every count, length, offset, alignment and product is checked in 64-bit arithmetic
// before use, nothing is allocated beyond what the rest of the file can hold, and a GgufFile that exists has only
// tensors whose whole range lies inside the file, aligned and disjoint.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/result.h"
#include "kernels/tensor_type.h"
#include "model/byte_source.h"

namespace takt {

enum class GgufType : std::uint32_t {
  kUint8 = 0,
  kInt8 = 1,
  kUint16 = 2,
  kInt16 = 3,
  kUint32 = 4,
  kInt32 = 5,
  kFloat32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kUint64 = 10,
  kInt64 = 11,
  kFloat64 = 12,
};
std::string_view to_string(GgufType type);

// Arrays hold scalars or strings; arrays of arrays are refused (the depth limit is 1).
using GgufArray = std::variant<std::vector<std::uint64_t>, std::vector<std::int64_t>, std::vector<double>,
                               std::vector<std::uint8_t>, std::vector<std::string>>;

struct GgufValue {
  GgufType type = GgufType::kUint8;
  GgufType element_type = GgufType::kUint8;  // arrays only
  std::variant<std::uint64_t, std::int64_t, double, bool, std::string, GgufArray> data;
};

struct GgufEntry {
  std::string key;
  GgufValue value;
};

struct GgufTensor {
  std::string name;
  TensorType type = TensorType::kF32;
  std::vector<std::uint64_t> shape;  // 1 to 4 extents, the contiguous one first; none is 0
  std::uint64_t elements = 0;
  std::uint64_t bytes = 0;
  std::uint64_t file_offset = 0;  // from the start of the file
};

class GgufFile {
 public:
  // Errors: kNotFound and kIo as open_file; kInvalidArgument with the key, tensor or count at fault.
  static Result<GgufFile> open(const std::filesystem::path& path);
  static Result<GgufFile> parse(std::shared_ptr<const ByteSource> source);

  std::uint32_t version() const { return version_; }
  std::uint64_t file_bytes() const { return source_->size(); }
  const std::vector<GgufEntry>& metadata() const { return metadata_; }  // in the order of the file
  const std::vector<GgufTensor>& tensors() const { return tensors_; }

  // For who reads tensors after this object is gone.
  const std::shared_ptr<const ByteSource>& source() const { return source_; }

  // Null when there is none.
  const GgufValue* find(std::string_view key) const;
  const GgufTensor* find_tensor(std::string_view name) const;

  // Reads out.size() bytes of a tensor, from `offset` inside it. Errors: kIo, naming the tensor, when the file no
  // longer has them.
  Status read(const GgufTensor& tensor, std::uint64_t offset, std::span<std::byte> out) const;

 private:
  friend class GgufParser;
  GgufFile() = default;

  std::shared_ptr<const ByteSource> source_;
  std::uint32_t version_ = 0;
  std::vector<GgufEntry> metadata_;
  std::vector<GgufTensor> tensors_;
  std::unordered_map<std::string, std::size_t> metadata_index_;
  std::unordered_map<std::string, std::size_t> tensor_index_;
};

// A name from a file, fit for a message: cut to a sane length, unprintable bytes as \xNN.
std::string printable(std::string_view text);

}  // namespace takt
