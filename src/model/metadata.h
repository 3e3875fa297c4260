// Typed, range-checked access to a file's metadata. The first failure is kept, with the key, what was expected and what
// the file has; later reads give fallbacks. Ask status() before the values are used.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/gguf.h"

namespace takt {

struct IntRange {
  std::int64_t least = 0;
  std::int64_t most = 0;
};

struct FloatRange {
  double least = 0.0;
  double most = 0.0;
};

class MetadataReader {
 public:
  explicit MetadataReader(const GgufFile& file) : file_(file) {}

  const GgufFile& file() const { return file_; }
  const Status& status() const { return status_; }
  void fail(std::string_view key, const std::string& message);
  void fail(Error error);

  // Empty when the key is absent. Integers of any width are accepted, floats of both.
  std::optional<std::int64_t> integer(std::string_view key, IntRange range);
  std::optional<float> number(std::string_view key, FloatRange range);
  std::optional<bool> boolean(std::string_view key);
  std::optional<std::string> string(std::string_view key, std::size_t longest);
  // Null when absent.
  const std::vector<std::string>* strings(std::string_view key);
  std::optional<std::vector<std::int64_t>> integers(std::string_view key, IntRange range);
  std::optional<std::vector<float>> numbers(std::string_view key);
  std::optional<std::vector<std::uint8_t>> bytes(std::string_view key);

  // A failure when the key is absent.
  std::int64_t required_integer(std::string_view key, IntRange range);
  std::string required_string(std::string_view key, std::size_t longest);

 private:
  const GgufValue* find(std::string_view key);
  void wrong_type(std::string_view key, const GgufValue& value, std::string_view expected);

  const GgufFile& file_;
  Status status_;
};

}  // namespace takt
