// Builds small GGUF files in memory, right or wrong ones.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "model/gguf.h"

namespace takt::testing {

class GgufWriter {
 public:
  void add_string(std::string_view key, std::string_view value) {
    begin_entry(key, GgufType::kString);
    put_string(entries_, value);
  }
  void add_u32(std::string_view key, std::uint32_t value) {
    begin_entry(key, GgufType::kUint32);
    put(entries_, value);
  }
  void add_f32(std::string_view key, float value) {
    begin_entry(key, GgufType::kFloat32);
    put(entries_, value);
  }
  void add_bool(std::string_view key, bool value) {
    begin_entry(key, GgufType::kBool);
    put(entries_, static_cast<std::uint8_t>(value));
  }
  void add_strings(std::string_view key, const std::vector<std::string>& values) {
    begin_array(key, GgufType::kString, values.size());
    for (const auto& value : values) put_string(entries_, value);
  }
  template <typename T>
  void add_numbers(std::string_view key, GgufType type, const std::vector<T>& values) {
    begin_array(key, type, values.size());
    for (const T value : values) put(entries_, value);
  }
  // An array header without elements.
  void begin_array(std::string_view key, GgufType type, std::uint64_t count) {
    begin_entry(key, GgufType::kArray);
    put(entries_, static_cast<std::uint32_t>(type));
    put(entries_, count);
  }
  // An entry's name and type; the value is the caller's to add with raw().
  void begin_entry(std::string_view key, GgufType type) {
    put_string(entries_, key);
    put(entries_, static_cast<std::uint32_t>(type));
    ++keys;
  }
  template <typename T>
  void raw(T value) {
    put(entries_, value);
  }

  // `offset` as written; the data itself is appended padded to 32.
  void add_tensor(std::string_view name, const std::vector<std::uint64_t>& shape, std::uint32_t type,
                  const std::string& data) {
    put_string(tensors_, name);
    put(tensors_, static_cast<std::uint32_t>(shape.size()));
    for (const std::uint64_t extent : shape) put(tensors_, extent);
    put(tensors_, type);
    put(tensors_, static_cast<std::uint64_t>(data_.size()));
    data_ += data;
    data_.resize((data_.size() + 31) / 32 * 32);
    ++tensors;
  }

  std::string bytes() const {
    std::string out = magic;
    put(out, version);
    put(out, tensors);
    put(out, keys);
    out += entries_;
    out += tensors_;
    out.resize((out.size() + 31) / 32 * 32);
    return out + data_;
  }

  std::string magic = "GGUF";
  std::uint32_t version = 3;
  std::uint64_t keys = 0;
  std::uint64_t tensors = 0;

 private:
  template <typename T>
  static void put(std::string& out, T value) {
    char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    out.append(bytes, sizeof(T));
  }
  static void put_string(std::string& out, std::string_view text) {
    put(out, static_cast<std::uint64_t>(text.size()));
    out += text;
  }

  std::string entries_;
  std::string tensors_;
  std::string data_;
};

inline Result<GgufFile> parse_gguf(const std::string& bytes) {
  return GgufFile::parse(memory_source({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}));
}

}  // namespace takt::testing
