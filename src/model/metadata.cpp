#include "model/metadata.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace takt {
namespace {

// The value as a signed integer; empty when it is no integer or does not fit.
std::optional<std::int64_t> as_integer(const GgufValue& value) {
  if (const auto* u = std::get_if<std::uint64_t>(&value.data)) {
    if (*u > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
    return static_cast<std::int64_t>(*u);
  }
  if (const auto* i = std::get_if<std::int64_t>(&value.data)) return *i;
  return std::nullopt;
}

std::string describe(const GgufValue& value) {
  if (value.type != GgufType::kArray) return std::string(to_string(value.type));
  return "array of " + std::string(to_string(value.element_type));
}

template <typename T>
const T* array_of(const GgufValue& value) {
  const auto* array = std::get_if<GgufArray>(&value.data);
  return array == nullptr ? nullptr : std::get_if<T>(array);
}

}  // namespace

void MetadataReader::fail(std::string_view key, const std::string& message) {
  fail(Error::invalid(std::string(key), std::string(key) + ": " + message));
}

void MetadataReader::fail(Error error) {
  if (status_.ok()) status_ = std::move(error);
}

const GgufValue* MetadataReader::find(std::string_view key) {
  return status_.ok() ? file_.find(key) : nullptr;
}

void MetadataReader::wrong_type(std::string_view key, const GgufValue& value, std::string_view expected) {
  fail(key, "has the type " + describe(value) + ", expected " + std::string(expected));
}

std::optional<std::int64_t> MetadataReader::integer(std::string_view key, IntRange range) {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!std::holds_alternative<std::uint64_t>(value->data) && !std::holds_alternative<std::int64_t>(value->data)) {
    wrong_type(key, *value, "an integer");
    return std::nullopt;
  }
  const auto number = as_integer(*value);
  if (!number || *number < range.least || *number > range.most) {
    fail(key, "is " + (number ? std::to_string(*number) : std::string("beyond 63 bits")) + "; it must be from " +
                  std::to_string(range.least) + " to " + std::to_string(range.most));
    return std::nullopt;
  }
  return number;
}

std::optional<float> MetadataReader::number(std::string_view key, FloatRange range) {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  const auto* number = std::get_if<double>(&value->data);
  if (number == nullptr) {
    wrong_type(key, *value, "a float");
    return std::nullopt;
  }
  if (!std::isfinite(*number) || *number < range.least || *number > range.most) {
    fail(key, "is " + std::to_string(*number) + "; it must be from " + std::to_string(range.least) + " to " +
                  std::to_string(range.most));
    return std::nullopt;
  }
  return static_cast<float>(*number);
}

std::optional<bool> MetadataReader::boolean(std::string_view key) {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* flag = std::get_if<bool>(&value->data)) return *flag;
  wrong_type(key, *value, "bool");
  return std::nullopt;
}

std::optional<std::string> MetadataReader::string(std::string_view key, std::size_t longest) {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  const auto* text = std::get_if<std::string>(&value->data);
  if (text == nullptr) {
    wrong_type(key, *value, "string");
    return std::nullopt;
  }
  if (text->size() > longest) {
    fail(key, "has " + std::to_string(text->size()) + " bytes; the limit is " + std::to_string(longest));
    return std::nullopt;
  }
  return *text;
}

const std::vector<std::string>* MetadataReader::strings(std::string_view key) {
  const GgufValue* value = find(key);
  if (value == nullptr) return nullptr;
  if (const auto* list = array_of<std::vector<std::string>>(*value)) return list;
  wrong_type(key, *value, "array of string");
  return nullptr;
}

std::optional<std::vector<std::int64_t>> MetadataReader::integers(std::string_view key, IntRange range) {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  std::vector<std::int64_t> out;
  if (const auto* list = array_of<std::vector<std::int64_t>>(*value)) {
    out = *list;
  } else if (const auto* unsigned_list = array_of<std::vector<std::uint64_t>>(*value)) {
    for (const std::uint64_t element : *unsigned_list) {
      out.push_back(
          static_cast<std::int64_t>(std::min<std::uint64_t>(element, std::numeric_limits<std::int64_t>::max())));
    }
  } else {
    wrong_type(key, *value, "array of integers");
    return std::nullopt;
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i] < range.least || out[i] > range.most) {
      fail(key, "element " + std::to_string(i) + " is " + std::to_string(out[i]) + "; it must be from " +
                    std::to_string(range.least) + " to " + std::to_string(range.most));
      return std::nullopt;
    }
  }
  return out;
}

std::optional<std::vector<float>> MetadataReader::numbers(std::string_view key) {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  const auto* list = array_of<std::vector<double>>(*value);
  if (list == nullptr) {
    wrong_type(key, *value, "array of floats");
    return std::nullopt;
  }
  std::vector<float> out;
  out.reserve(list->size());
  for (const double element : *list) {
    if (!std::isfinite(element)) {
      fail(key, "element " + std::to_string(out.size()) + " is not finite");
      return std::nullopt;
    }
    out.push_back(static_cast<float>(element));
  }
  return out;
}

std::optional<std::vector<std::uint8_t>> MetadataReader::bytes(std::string_view key) {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  const auto* list = array_of<std::vector<std::uint8_t>>(*value);
  if (list == nullptr) {
    wrong_type(key, *value, "array of uint8");
    return std::nullopt;
  }
  return *list;
}

std::int64_t MetadataReader::required_integer(std::string_view key, IntRange range) {
  if (status_.ok() && file_.find(key) == nullptr) fail(key, "required key is missing");
  return integer(key, range).value_or(range.least);
}

std::string MetadataReader::required_string(std::string_view key, std::size_t longest) {
  if (status_.ok() && file_.find(key) == nullptr) fail(key, "required key is missing");
  return string(key, longest).value_or(std::string());
}

}  // namespace takt
