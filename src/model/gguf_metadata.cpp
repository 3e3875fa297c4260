#include "model/gguf_metadata.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "model/gguf_fault.h"

namespace takt {
namespace {

constexpr std::uint64_t kMaxKeyBytes = 65535;  // the format's own limit
constexpr std::uint64_t kMaxStringBytes = 64ULL << 20U;
constexpr std::uint64_t kMaxArrayElements = 1U << 25U;  // twice the largest vocabulary
constexpr std::uint64_t kReservedStrings = 1U << 16U;   // a file may claim more strings than it has

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
    case GgufType::kString:  // at least its length
    case GgufType::kArray:
      return 8;
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

Status read_scalar(GgufCursor& cursor, const std::string& key, GgufValue& out) {
  switch (out.type) {
    case GgufType::kUint8:
      out.data = std::uint64_t{cursor.number<std::uint8_t>()};
      break;
    case GgufType::kUint16:
      out.data = std::uint64_t{cursor.number<std::uint16_t>()};
      break;
    case GgufType::kUint32:
      out.data = std::uint64_t{cursor.number<std::uint32_t>()};
      break;
    case GgufType::kUint64:
      out.data = cursor.number<std::uint64_t>();
      break;
    case GgufType::kInt8:
      out.data = std::int64_t{cursor.number<std::int8_t>()};
      break;
    case GgufType::kInt16:
      out.data = std::int64_t{cursor.number<std::int16_t>()};
      break;
    case GgufType::kInt32:
      out.data = std::int64_t{cursor.number<std::int32_t>()};
      break;
    case GgufType::kInt64:
      out.data = cursor.number<std::int64_t>();
      break;
    case GgufType::kFloat32:
      out.data = static_cast<double>(cursor.number<float>());
      break;
    case GgufType::kFloat64:
      out.data = cursor.number<double>();
      break;
    default: {
      const auto byte = cursor.number<std::uint8_t>();
      if (byte > 1) return bad_gguf_key(key, "a bool of " + std::to_string(byte) + "; it must be 0 or 1");
      out.data = byte == 1;
    }
  }
  if (!cursor.ok()) return cursor.error();
  return {};
}

Status read_array(GgufCursor& cursor, const std::string& key, GgufValue& out) {
  out.element_type = static_cast<GgufType>(cursor.number<std::uint32_t>());
  const auto count = cursor.number<std::uint64_t>();
  if (!cursor.ok()) return cursor.error();
  const std::uint64_t element_bytes = scalar_bytes(out.element_type);
  if (element_bytes == 0) {
    return bad_gguf_key(key,
                        "unknown array element type " + std::to_string(static_cast<std::uint32_t>(out.element_type)));
  }
  if (out.element_type == GgufType::kArray) return bad_gguf_key(key, "an array of arrays; the depth limit is 1");
  if (count > cursor.remaining() / element_bytes) {
    return bad_gguf_key(key, "an array of " + std::to_string(count) + " elements is more than the file's remaining " +
                                 std::to_string(cursor.remaining()) + " bytes can hold: unexpected end of file");
  }
  if (count > kMaxArrayElements) {
    return bad_gguf_key(
        key, "an array of " + std::to_string(count) + " elements; the limit is " + std::to_string(kMaxArrayElements));
  }
  if (out.element_type == GgufType::kString) {
    std::vector<std::string> strings;
    strings.reserve(std::min(count, kReservedStrings));
    for (std::uint64_t i = 0; i < count; ++i) {
      auto text = cursor.string(kMaxStringBytes, printable(key) + "[" + std::to_string(i) + "]");
      if (!text) return text.error();
      strings.push_back(std::move(*text));
    }
    out.data = GgufArray(std::move(strings));
    return {};
  }
  std::vector<std::byte> bytes(count * element_bytes);
  cursor.read(bytes.data(), bytes.size());
  if (!cursor.ok()) return cursor.error();
  out.data = number_array(out.element_type, bytes);
  return {};
}

Status read_value(GgufCursor& cursor, const std::string& key, GgufValue& out) {
  out.type = static_cast<GgufType>(cursor.number<std::uint32_t>());
  if (!cursor.ok()) return cursor.error();
  if (scalar_bytes(out.type) == 0) {
    return bad_gguf_key(key, "unknown value type " + std::to_string(static_cast<std::uint32_t>(out.type)));
  }
  if (out.type == GgufType::kArray) return read_array(cursor, key, out);
  if (out.type != GgufType::kString) return read_scalar(cursor, key, out);
  auto text = cursor.string(kMaxStringBytes, printable(key));
  if (!text) return text.error();
  out.data = std::move(*text);
  return {};
}

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

Result<GgufEntry> read_gguf_entry(GgufCursor& cursor, std::size_t ordinal) {
  const std::string which = "metadata key " + std::to_string(ordinal);
  auto key = cursor.string(kMaxKeyBytes, which);
  if (!key) return key.error();
  if (key->empty()) return bad_gguf_file(which + " is empty");
  GgufEntry entry;
  entry.key = std::move(*key);
  if (Status status = read_value(cursor, entry.key, entry.value); !status) return status.error();
  return entry;
}

}  // namespace takt
