#include "model/gguf.h"

#include <array>
#include <bit>
#include <utility>

#include "model/gguf_cursor.h"
#include "model/gguf_fault.h"
#include "model/gguf_metadata.h"
#include "model/gguf_tensors.h"

namespace takt {
namespace {

constexpr std::uint64_t kDefaultAlignment = 32;

}  // namespace

std::string printable(std::string_view text) {
  constexpr std::size_t kLongest = 120;
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out;
  for (const char c : text.substr(0, kLongest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7F) {
      out += c;
    } else {
      out += "\\x";
      out += kHex[byte >> 4U];
      out += kHex[byte & 15U];
    }
  }
  if (text.size() > kLongest) out += "...";
  return out;
}

// Builds a GgufFile from the front of the file to its back.
class GgufParser {
 public:
  explicit GgufParser(std::shared_ptr<const ByteSource> source) : source_(std::move(source)), cursor_(*source_) {
    file_.source_ = source_;
  }

  Result<GgufFile> parse() {
    if (Status status = header(); !status) return status.error();
    for (std::uint64_t i = 0; i < key_count_; ++i) {
      if (Status status = entry(); !status) return status.error();
    }
    if (Status status = alignment(); !status) return status.error();
    for (std::uint64_t i = 0; i < tensor_count_; ++i) {
      if (Status status = tensor(); !status) return status.error();
    }
    if (Status status = place_gguf_tensors(file_.tensors_, cursor_, alignment_); !status) return status.error();
    return std::move(file_);
  }

 private:
  Status header() {
    if (source_->size() == 0) return bad_gguf_file("the file is empty");
    std::array<char, 4> magic{};
    cursor_.read(reinterpret_cast<std::byte*>(magic.data()), magic.size());
    if (!cursor_.ok()) return cursor_.error();
    if (std::string_view(magic.data(), magic.size()) != "GGUF") {
      return bad_gguf_file("not a GGUF file: the magic is \"" + printable({magic.data(), magic.size()}) + "\"");
    }
    file_.version_ = cursor_.number<std::uint32_t>();
    tensor_count_ = cursor_.number<std::uint64_t>();
    key_count_ = cursor_.number<std::uint64_t>();
    if (!cursor_.ok()) return cursor_.error();
    if (file_.version_ != 0 && (file_.version_ & 0xFFFFU) == 0) {
      return bad_gguf_file("the file is big-endian; only little-endian GGUF files are supported");
    }
    if (file_.version_ != 2 && file_.version_ != 3) {
      return bad_gguf_file("GGUF version " + std::to_string(file_.version_) +
                           " is not supported; versions 2 and 3 are");
    }
    if (key_count_ > cursor_.remaining() / kMinGgufEntryBytes) {
      return bad_gguf_file("the number of metadata keys (n_kv), " + std::to_string(key_count_) +
                           ", is more than the file's " + std::to_string(source_->size()) + " bytes can hold");
    }
    if (tensor_count_ > cursor_.remaining() / kMinGgufTensorBytes) {
      return bad_gguf_file("the number of tensors (n_tensors), " + std::to_string(tensor_count_) +
                           ", is more than the file's " + std::to_string(source_->size()) + " bytes can hold");
    }
    return {};
  }

  Status entry() {
    auto entry = read_gguf_entry(cursor_, file_.metadata_.size());
    if (!entry) return entry.error();
    if (!file_.metadata_index_.emplace(entry->key, file_.metadata_.size()).second) {
      return bad_gguf_key(entry->key, "duplicate key: the file gives it twice");
    }
    file_.metadata_.push_back(std::move(*entry));
    return {};
  }

  Status alignment() {
    const GgufValue* given = file_.find("general.alignment");
    if (given == nullptr) return {};
    const auto* value = std::get_if<std::uint64_t>(&given->data);
    if (given->type != GgufType::kUint32 || value == nullptr) {
      return bad_gguf_key("general.alignment",
                          "must be of type uint32, the file has type " + std::string(to_string(given->type)));
    }
    if (!std::has_single_bit(*value)) {
      return bad_gguf_key("general.alignment", "must be a power of two, the file says " + std::to_string(*value));
    }
    alignment_ = *value;
    return {};
  }

  Status tensor() {
    auto tensor = read_gguf_tensor(cursor_, file_.tensors_.size());
    if (!tensor) return tensor.error();
    if (!file_.tensor_index_.emplace(tensor->name, file_.tensors_.size()).second) {
      return bad_gguf_tensor(tensor->name, "duplicate name: the file has it twice");
    }
    file_.tensors_.push_back(std::move(*tensor));
    return {};
  }

  std::shared_ptr<const ByteSource> source_;
  GgufCursor cursor_;
  GgufFile file_;
  std::uint64_t key_count_ = 0;
  std::uint64_t tensor_count_ = 0;
  std::uint64_t alignment_ = kDefaultAlignment;
};

Result<GgufFile> GgufFile::parse(std::shared_ptr<const ByteSource> source) {
  return GgufParser(std::move(source)).parse();
}

Result<GgufFile> GgufFile::open(const std::filesystem::path& path) {
  auto source = open_file(path);
  if (!source) return source.error();
  auto file = parse(std::move(*source));
  if (!file) {
    Error error = file.error();
    error.message = path.string() + ": " + error.message;
    return error;
  }
  return file;
}

const GgufValue* GgufFile::find(std::string_view key) const {
  const auto found = metadata_index_.find(std::string(key));
  return found == metadata_index_.end() ? nullptr : &metadata_[found->second].value;
}

const GgufTensor* GgufFile::find_tensor(std::string_view name) const {
  const auto found = tensor_index_.find(std::string(name));
  return found == tensor_index_.end() ? nullptr : &tensors_[found->second];
}

Status GgufFile::read(const GgufTensor& tensor, std::uint64_t offset, std::span<std::byte> out) const {
  if (offset > tensor.bytes || out.size() > tensor.bytes - offset) {
    return bad_gguf_tensor(tensor.name, "read beyond its end");
  }
  Status status = source_->read(tensor.file_offset + offset, out);
  if (status) return {};
  Error error = status.error();
  error.message = "tensor " + printable(tensor.name) + ": " + error.message;
  return error;
}

}  // namespace takt
