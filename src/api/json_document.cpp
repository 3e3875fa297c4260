#include "api/json_document.h"

#include <boost/json/basic_parser_impl.hpp>

#include <charconv>
#include <limits>
#include <optional>
#include <string>

#include "api/json_fields.h"

namespace takt::api {

namespace json = boost::json;

namespace {

constexpr std::string_view kVerbatimField = "chat_template_kwargs";
constexpr std::size_t kInt64Digits = 20;

template <typename Number>
std::optional<Number> whole_text_as(std::string_view text) {
  Number number{};
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

// A number's text without its decimal point and exponent: "-12.50e3" -> "-12500". Empty when it is no whole number or
// has more digits than 64 bits hold.
std::string whole_digits(std::string_view text) {
  const std::size_t mark = text.find_first_of("eE");
  std::string_view power = mark == std::string_view::npos ? "0" : text.substr(mark + 1);
  if (power.starts_with('+')) power.remove_prefix(1);
  const auto exponent = whole_text_as<int>(power);
  if (!exponent) return {};
  std::string digits;
  std::int64_t zeros = *exponent;  // to be written after the digits
  bool after_point = false;
  for (const char c : text.substr(0, mark)) {
    if (c >= '0' && c <= '9') digits += c;
    if (c >= '0' && c <= '9' && after_point) --zeros;
    after_point |= c == '.';
  }
  while (!digits.empty() && digits.back() == '0') {
    digits.pop_back();
    ++zeros;
  }
  if (digits.empty()) return "0";
  digits.erase(0, digits.find_first_not_of('0'));
  if (zeros < 0 || zeros > static_cast<std::int64_t>(kInt64Digits) || digits.size() > kInt64Digits) return {};
  digits.append(static_cast<std::size_t>(zeros), '0');
  return text.starts_with('-') ? "-" + digits : digits;
}

// Receives what the library's parser reads and builds the document.
class DocumentBuilder {
 public:
  static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_array_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_key_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_string_size = static_cast<std::size_t>(-1);

  DocumentBuilder() { stack_.reset(); }
  json::value take() { return stack_.release(); }

  bool on_document_begin(json::error_code&) { return true; }
  bool on_document_end(json::error_code&) { return true; }
  bool on_object_begin(json::error_code&) { return descend(); }
  bool on_array_begin(json::error_code&) { return descend(); }
  bool on_object_end(std::size_t members, json::error_code&) {
    --depth_;
    stack_.push_object(members);
    return true;
  }
  bool on_array_end(std::size_t items, json::error_code&) {
    --depth_;
    stack_.push_array(items);
    return true;
  }
  bool on_key_part(json::string_view part, std::size_t, json::error_code&) {
    key_.append(part.data(), part.size());
    stack_.push_chars(part);
    return true;
  }
  bool on_key(json::string_view part, std::size_t, json::error_code&) {
    key_.append(part.data(), part.size());
    if (depth_ == 1) verbatim_ = key_ == kVerbatimField;
    key_.clear();
    stack_.push_key(part);
    return true;
  }
  bool on_string_part(json::string_view part, std::size_t, json::error_code&) {
    stack_.push_chars(part);
    return true;
  }
  bool on_string(json::string_view part, std::size_t, json::error_code&) {
    stack_.push_string(part);
    return true;
  }
  bool on_number_part(json::string_view part, json::error_code&) {
    number_.append(part.data(), part.size());
    return true;
  }
  bool on_int64(std::int64_t number, json::string_view, json::error_code&) {
    number_.clear();
    stack_.push_int64(number);
    return true;
  }
  bool on_uint64(std::uint64_t number, json::string_view, json::error_code&) {
    number_.clear();
    stack_.push_uint64(number);
    return true;
  }
  bool on_double(double, json::string_view part, json::error_code&) {
    number_.append(part.data(), part.size());
    push_number(number_);
    number_.clear();
    return true;
  }
  bool on_bool(bool value, json::error_code&) {
    stack_.push_bool(value);
    return true;
  }
  bool on_null(json::error_code&) {
    stack_.push_null();
    return true;
  }
  bool on_comment_part(json::string_view, json::error_code&) { return true; }
  bool on_comment(json::string_view, json::error_code&) { return true; }

 private:
  bool descend() {
    ++depth_;
    return true;
  }

  void push_number(const std::string& text) {
    if (!verbatim_) {
      const std::string whole = whole_digits(text);
      if (const auto number = whole_text_as<std::int64_t>(whole)) return stack_.push_int64(*number);
      if (const auto number = whole_text_as<std::uint64_t>(whole)) return stack_.push_uint64(*number);
    }
    const bool is_integer = text.find_first_of(".eE") == std::string::npos;
    const auto nearest = is_integer ? std::nullopt : whole_text_as<double>(text);
    stack_.push_double(nearest.value_or(std::numeric_limits<double>::quiet_NaN()));
  }

  json::value_stack stack_;
  std::size_t depth_ = 0;
  std::string key_;
  std::string number_;
  bool verbatim_ = false;  // inside kVerbatimField
};

}  // namespace

Result<json::value> parse_object(std::string_view body, const ApiOptions& options) {
  json::parse_options parse_options;
  parse_options.max_depth = options.max_json_depth;
  json::basic_parser<DocumentBuilder> parser(parse_options);
  json::error_code code;
  const std::size_t read = parser.write_some(false, body.data(), body.size(), code);
  if (code == json::error::too_deep) {
    return Error::invalid(
        "", "The request body is nested deeper than " + std::to_string(options.max_json_depth) + " levels");
  }
  if (code || read < body.size()) {
    const std::string what = code ? code.message() : "there is text after the end";
    return Error::invalid("",
                          "The request body is not valid JSON (UTF-8): " + what + ", at byte " + std::to_string(read));
  }
  json::value document = parser.handler().take();
  if (!document.is_object())
    return Error::invalid("", "The request body must be a JSON object, not " + std::string(kind_name(document)));
  return document;
}

}  // namespace takt::api
