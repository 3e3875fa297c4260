#include "model/gguf.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

namespace takt {
namespace {

static_assert(std::endian::native == std::endian::little, "GGUF values are read as they lie in the file");

constexpr std::uint64_t kMaxKeyBytes = 65535;       // the format's own limit
constexpr std::uint64_t kMaxTensorNameBytes = 256;  // the format says 64; nothing here depends on it
constexpr std::uint64_t kMaxStringBytes = 64ULL << 20U;
constexpr std::uint64_t kMaxArrayElements = 1U << 25U;  // twice the largest vocabulary
constexpr std::uint64_t kMaxDimensions = 4;
constexpr std::uint64_t kDefaultAlignment = 32;
constexpr std::uint64_t kMaxElements = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t kReservedStrings = 1U << 16U;  // a file may claim more strings than it has
// The least that an entry takes in the file: lengths, type and one byte of value, or one extent and the offset.
constexpr std::uint64_t kMinEntryBytes = 8 + 4 + 1;
constexpr std::uint64_t kMinTensorBytes = 8 + 4 + 8 + 4 + 8;

Error bad_file(std::string message) {
  return Error{ErrorCode::kInvalidArgument, std::move(message), "model"};
}
Error bad_key(const std::string& key, std::string message) {
  return Error{ErrorCode::kInvalidArgument, printable(key) + ": " + std::move(message), printable(key)};
}
Error bad_tensor(const std::string& name, std::string message) {
  return Error{ErrorCode::kInvalidArgument, "tensor " + printable(name) + ": " + std::move(message), printable(name)};
}

// False on overflow.
bool multiply(std::uint64_t a, std::uint64_t b, std::uint64_t limit, std::uint64_t& product) {
  return !__builtin_mul_overflow(a, b, &product) && product <= limit;
}

std::uint64_t scalar_bytes(GgufType type) {
  switch (type) {
    case GgufType::kUint8:
    case GgufType::kInt8:
    case GgufType::kBool:
      return 1;
    case GgufType::kUint16:
    case GgufType::kInt16:
      return 2;
    case GgufType::kUint32:
    case GgufType::kInt32:
    case GgufType::kFloat32:
      return 4;
    case GgufType::kUint64:
    case GgufType::kInt64:
    case GgufType::kFloat64:
      return 8;
    case GgufType::kString:
    case GgufType::kArray:
      return 8;  // at least the length
  }
  return 0;  // no such type
}

template <typename T>
T from_bytes(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

// Every element, widened.
template <typename Wide, typename Narrow>
std::vector<Wide> widen(const std::vector<std::byte>& bytes) {
  std::vector<Wide> values(bytes.size() / sizeof(Narrow));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<Wide>(from_bytes<Narrow>(bytes.data() + i * sizeof(Narrow)));
  }
  return values;
}

GgufArray number_array(GgufType type, const std::vector<std::byte>& bytes) {
  switch (type) {
    case GgufType::kUint16:
      return widen<std::uint64_t, std::uint16_t>(bytes);
    case GgufType::kUint32:
      return widen<std::uint64_t, std::uint32_t>(bytes);
    case GgufType::kUint64:
      return widen<std::uint64_t, std::uint64_t>(bytes);
    case GgufType::kInt16:
      return widen<std::int64_t, std::int16_t>(bytes);
    case GgufType::kInt32:
      return widen<std::int64_t, std::int32_t>(bytes);
    case GgufType::kInt64:
      return widen<std::int64_t, std::int64_t>(bytes);
    case GgufType::kFloat32:
      return widen<double, float>(bytes);
    case GgufType::kFloat64:
      return widen<double, double>(bytes);
    default:
      return widen<std::uint8_t, std::uint8_t>(bytes);
  }
}

// Reads forward through the header in windows. After an error every read gives zeros and the error stays.
class Cursor {
 public:
  explicit Cursor(const ByteSource& source) : source_(source) {}

  std::uint64_t position() const { return position_; }
  std::uint64_t remaining() const { return source_.size() - position_; }
  bool ok() const { return status_.ok(); }
  const Error& error() const { return status_.error(); }

  void read(std::byte* out, std::uint64_t count) {
    if (!ok()) return;
    if (count > remaining()) {
      status_ = bad_file("the file is truncated: unexpected end of file at byte " + std::to_string(source_.size()) +
                         ", inside its header");
      return;
    }
    while (count > 0) {
      if (position_ < window_start_ || position_ >= window_start_ + window_.size()) {
        window_.resize(std::min<std::uint64_t>(kWindow, remaining()));
        window_start_ = position_;
        status_ = source_.read(window_start_, window_);
        if (!ok()) return;
      }
      const std::uint64_t in_window = position_ - window_start_;
      const std::uint64_t take = std::min<std::uint64_t>(count, window_.size() - in_window);
      std::memcpy(out, window_.data() + in_window, take);
      out += take;
      position_ += take;
      count -= take;
    }
  }

  template <typename T>
  T number() {
    std::array<std::byte, sizeof(T)> bytes{};
    read(bytes.data(), bytes.size());
    return from_bytes<T>(bytes.data());
  }

  // `what` names the string in messages.
  Result<std::string> string(std::uint64_t limit, const std::string& what) {
    const auto length = number<std::uint64_t>();
    if (!ok()) return error();
    if (length > limit || length > remaining()) {
      const bool cut = length <= limit;
      return bad_file(what + " claims a string length of " + std::to_string(length) + " bytes; " +
                      (cut ? "the file is truncated or lies: it has " + std::to_string(remaining()) + " left"
                           : "the limit is " + std::to_string(limit)));
    }
    std::string text(length, '\0');
    read(reinterpret_cast<std::byte*>(text.data()), length);
    if (!ok()) return error();
    return text;
  }

 private:
  static constexpr std::uint64_t kWindow = 256U << 10U;

  const ByteSource& source_;
  std::uint64_t position_ = 0;
  std::uint64_t window_start_ = 0;
  std::vector<std::byte> window_;
  Status status_;
};

}  // namespace

std::string_view to_string(GgufType type) {
  switch (type) {
    case GgufType::kUint8:
      return "uint8";
    case GgufType::kInt8:
      return "int8";
    case GgufType::kUint16:
      return "uint16";
    case GgufType::kInt16:
      return "int16";
    case GgufType::kUint32:
      return "uint32";
    case GgufType::kInt32:
      return "int32";
    case GgufType::kFloat32:
      return "float32";
    case GgufType::kBool:
      return "bool";
    case GgufType::kString:
      return "string";
    case GgufType::kArray:
      return "array";
    case GgufType::kUint64:
      return "uint64";
    case GgufType::kInt64:
      return "int64";
    case GgufType::kFloat64:
      return "float64";
  }
  return "unknown";
}

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
    if (Status status = place_tensors(); !status) return status.error();
    return std::move(file_);
  }

 private:
  Status header() {
    if (source_->size() == 0) return bad_file("the file is empty");
    std::array<char, 4> magic{};
    cursor_.read(reinterpret_cast<std::byte*>(magic.data()), magic.size());
    if (!cursor_.ok()) return cursor_.error();
    if (std::string_view(magic.data(), magic.size()) != "GGUF") {
      return bad_file("not a GGUF file: the magic is \"" + printable({magic.data(), magic.size()}) + "\"");
    }
    file_.version_ = cursor_.number<std::uint32_t>();
    tensor_count_ = cursor_.number<std::uint64_t>();
    key_count_ = cursor_.number<std::uint64_t>();
    if (!cursor_.ok()) return cursor_.error();
    if (file_.version_ != 0 && (file_.version_ & 0xFFFFU) == 0) {
      return bad_file("the file is big-endian; only little-endian GGUF files are supported");
    }
    if (file_.version_ != 2 && file_.version_ != 3) {
      return bad_file("GGUF version " + std::to_string(file_.version_) + " is not supported; versions 2 and 3 are");
    }
    if (key_count_ > cursor_.remaining() / kMinEntryBytes) {
      return bad_file("the number of metadata keys (n_kv), " + std::to_string(key_count_) +
                      ", is more than the file's " + std::to_string(source_->size()) + " bytes can hold");
    }
    if (tensor_count_ > cursor_.remaining() / kMinTensorBytes) {
      return bad_file("the number of tensors (n_tensors), " + std::to_string(tensor_count_) +
                      ", is more than the file's " + std::to_string(source_->size()) + " bytes can hold");
    }
    return {};
  }

  Status entry() {
    const std::string ordinal = "metadata key " + std::to_string(file_.metadata_.size());
    auto key = cursor_.string(kMaxKeyBytes, ordinal);
    if (!key) return key.error();
    if (key->empty()) return bad_file(ordinal + " is empty");
    auto parsed = value(*key);
    if (!parsed) return parsed.error();
    if (!file_.metadata_index_.emplace(*key, file_.metadata_.size()).second) {
      return bad_key(*key, "duplicate key: the file gives it twice");
    }
    file_.metadata_.push_back({std::move(*key), std::move(*parsed)});
    return {};
  }

  Result<GgufValue> value(const std::string& key) {
    GgufValue out;
    out.type = static_cast<GgufType>(cursor_.number<std::uint32_t>());
    if (!cursor_.ok()) return cursor_.error();
    if (scalar_bytes(out.type) == 0) {
      return bad_key(key, "unknown value type " + std::to_string(static_cast<std::uint32_t>(out.type)));
    }
    if (out.type == GgufType::kArray) {
      Status status = array(key, out);
      if (!status) return status.error();
    } else if (out.type == GgufType::kString) {
      auto text = cursor_.string(kMaxStringBytes, printable(key));
      if (!text) return text.error();
      out.data = std::move(*text);
    } else {
      Status status = scalar(key, out);
      if (!status) return status.error();
    }
    return out;
  }

  Status scalar(const std::string& key, GgufValue& out) {
    switch (out.type) {
      case GgufType::kUint8:
        out.data = std::uint64_t{cursor_.number<std::uint8_t>()};
        break;
      case GgufType::kUint16:
        out.data = std::uint64_t{cursor_.number<std::uint16_t>()};
        break;
      case GgufType::kUint32:
        out.data = std::uint64_t{cursor_.number<std::uint32_t>()};
        break;
      case GgufType::kUint64:
        out.data = cursor_.number<std::uint64_t>();
        break;
      case GgufType::kInt8:
        out.data = std::int64_t{cursor_.number<std::int8_t>()};
        break;
      case GgufType::kInt16:
        out.data = std::int64_t{cursor_.number<std::int16_t>()};
        break;
      case GgufType::kInt32:
        out.data = std::int64_t{cursor_.number<std::int32_t>()};
        break;
      case GgufType::kInt64:
        out.data = cursor_.number<std::int64_t>();
        break;
      case GgufType::kFloat32:
        out.data = static_cast<double>(cursor_.number<float>());
        break;
      case GgufType::kFloat64:
        out.data = cursor_.number<double>();
        break;
      default: {
        const auto byte = cursor_.number<std::uint8_t>();
        if (byte > 1) return bad_key(key, "a bool of " + std::to_string(byte) + "; it must be 0 or 1");
        out.data = byte == 1;
      }
    }
    if (!cursor_.ok()) return cursor_.error();
    return {};
  }

  Status array(const std::string& key, GgufValue& out) {
    out.element_type = static_cast<GgufType>(cursor_.number<std::uint32_t>());
    const auto count = cursor_.number<std::uint64_t>();
    if (!cursor_.ok()) return cursor_.error();
    const std::uint64_t element_bytes = scalar_bytes(out.element_type);
    if (element_bytes == 0) {
      return bad_key(key, "unknown array element type " + std::to_string(static_cast<std::uint32_t>(out.element_type)));
    }
    if (out.element_type == GgufType::kArray) return bad_key(key, "an array of arrays; the depth limit is 1");
    if (count > cursor_.remaining() / element_bytes) {
      return bad_key(key, "an array of " + std::to_string(count) + " elements is more than the file's remaining " +
                              std::to_string(cursor_.remaining()) + " bytes can hold: unexpected end of file");
    }
    if (count > kMaxArrayElements) {
      return bad_key(
          key, "an array of " + std::to_string(count) + " elements; the limit is " + std::to_string(kMaxArrayElements));
    }
    if (out.element_type == GgufType::kString) {
      std::vector<std::string> strings;
      strings.reserve(std::min(count, kReservedStrings));
      for (std::uint64_t i = 0; i < count; ++i) {
        auto text = cursor_.string(kMaxStringBytes, printable(key) + "[" + std::to_string(i) + "]");
        if (!text) return text.error();
        strings.push_back(std::move(*text));
      }
      out.data = GgufArray(std::move(strings));
      return {};
    }
    std::vector<std::byte> bytes(count * element_bytes);
    cursor_.read(bytes.data(), bytes.size());
    if (!cursor_.ok()) return cursor_.error();
    out.data = number_array(out.element_type, bytes);
    return {};
  }

  Status alignment() {
    const GgufValue* given = file_.find("general.alignment");
    if (given == nullptr) return {};
    const auto* value = std::get_if<std::uint64_t>(&given->data);
    if (given->type != GgufType::kUint32 || value == nullptr) {
      return bad_key("general.alignment",
                     "must be of type uint32, the file has type " + std::string(to_string(given->type)));
    }
    if (!std::has_single_bit(*value)) {
      return bad_key("general.alignment", "must be a power of two, the file says " + std::to_string(*value));
    }
    alignment_ = *value;
    return {};
  }

  Status tensor() {
    GgufTensor out;
    auto name = cursor_.string(kMaxTensorNameBytes, "the name of tensor " + std::to_string(file_.tensors_.size()));
    if (!name) return name.error();
    if (name->empty()) return bad_file("the name of tensor " + std::to_string(file_.tensors_.size()) + " is empty");
    out.name = std::move(*name);
    const auto dimensions = cursor_.number<std::uint32_t>();
    if (!cursor_.ok()) return cursor_.error();
    if (dimensions < 1 || dimensions > kMaxDimensions) {
      return bad_tensor(out.name, "has " + std::to_string(dimensions) + " dims; 1 to 4 are possible");
    }
    for (std::uint32_t i = 0; i < dimensions; ++i) out.shape.push_back(cursor_.number<std::uint64_t>());
    const auto type_id = cursor_.number<std::uint32_t>();
    out.file_offset = cursor_.number<std::uint64_t>();  // until place_tensors: from the start of the data
    if (!cursor_.ok()) return cursor_.error();
    const auto type = tensor_type_from_id(type_id);
    if (!type) return bad_tensor(out.name, "has the unknown type " + std::to_string(type_id));
    out.type = *type;
    if (Status status = measure(out); !status) return status.error();
    if (!file_.tensor_index_.emplace(out.name, file_.tensors_.size()).second) {
      return bad_tensor(out.name, "duplicate name: the file has it twice");
    }
    file_.tensors_.push_back(std::move(out));
    return {};
  }

  static Status measure(GgufTensor& tensor) {
    const TensorTypeInfo& info = tensor_type_info(tensor.type);
    tensor.elements = 1;
    for (const std::uint64_t extent : tensor.shape) {
      if (extent == 0) return bad_tensor(tensor.name, "has a dim of 0");
      if (!multiply(tensor.elements, extent, kMaxElements, tensor.elements)) {
        return bad_tensor(tensor.name, "is too large: the product of its dims overflows 63 bits");
      }
    }
    if (tensor.shape[0] % info.block_elements != 0) {
      return bad_tensor(tensor.name, "has rows of " + std::to_string(tensor.shape[0]) + " values; a row of type " +
                                         std::string(info.name) + " must be a multiple of its block of " +
                                         std::to_string(info.block_elements));
    }
    if (!multiply(tensor.elements / info.block_elements, info.block_bytes, kMaxElements, tensor.bytes)) {
      return bad_tensor(tensor.name, "is too large: its bytes overflow 63 bits");
    }
    return {};
  }

  // Turns offsets into places in the file and checks that they lie inside it, aligned and disjoint.
  Status place_tensors() {
    if (file_.tensors_.empty()) return {};
    const std::uint64_t size = source_->size();
    const std::uint64_t padding = (alignment_ - cursor_.position() % alignment_) % alignment_;
    if (padding > cursor_.remaining()) {
      return bad_file("the file is truncated: it ends before its tensor data");
    }
    const std::uint64_t start = cursor_.position() + padding;
    for (GgufTensor& tensor : file_.tensors_) {
      if (tensor.file_offset % alignment_ != 0) {
        return bad_tensor(tensor.name, "has the offset " + std::to_string(tensor.file_offset) +
                                           ", which is not a multiple of the alignment " + std::to_string(alignment_));
      }
      if (tensor.file_offset > size - start || tensor.bytes > size - start - tensor.file_offset) {
        return bad_tensor(tensor.name, "offset " + std::to_string(tensor.file_offset) + " and " +
                                           std::to_string(tensor.bytes) +
                                           " bytes reach beyond the end of the file, whose data part has " +
                                           std::to_string(size - start) + " bytes: the file is truncated or lies");
      }
      tensor.file_offset += start;
    }
    std::vector<const GgufTensor*> by_place;
    for (const GgufTensor& tensor : file_.tensors_) by_place.push_back(&tensor);
    std::sort(by_place.begin(), by_place.end(),
              [](const GgufTensor* a, const GgufTensor* b) { return a->file_offset < b->file_offset; });
    for (std::size_t i = 1; i < by_place.size(); ++i) {
      if (by_place[i - 1]->file_offset + by_place[i - 1]->bytes > by_place[i]->file_offset) {
        return bad_tensor(by_place[i]->name, "its bytes overlap those of tensor " + printable(by_place[i - 1]->name));
      }
    }
    return {};
  }

  std::shared_ptr<const ByteSource> source_;
  Cursor cursor_;
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
    return bad_tensor(tensor.name, "read beyond its end");
  }
  Status status = source_->read(tensor.file_offset + offset, out);
  if (status) return {};
  Error error = status.error();
  error.message = "tensor " + printable(tensor.name) + ": " + error.message;
  return error;
}

}  // namespace takt
