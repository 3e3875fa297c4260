#include "debug_tokenize.h"

#include <boost/json.hpp>
#include <istream>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "model/gguf.h"
#include "model/vocabulary.h"
#include "text/tokenizer.h"

namespace takt {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxLineBytes = std::size_t{64} << 20;
constexpr std::size_t kMaxDepth = 8;

Result<std::unique_ptr<Tokenizer>> load_tokenizer(const std::filesystem::path& model) {
  const auto file = GgufFile::open(model);
  if (!file) return file.error();
  auto vocabulary = read_vocabulary(*file);
  if (!vocabulary) return vocabulary.error();
  return Tokenizer::create(std::move(vocabulary).value());
}

Result<bool> flag(const json::object& given, const char* name) {
  const json::value* value = given.if_contains(name);
  if (value == nullptr) return false;
  if (!value->is_bool()) return Error::invalid(name, std::string(name) + " must be true or false");
  return value->get_bool();
}

Result<json::object> parse_line(std::string_view line) {
  if (line.size() > kMaxLineBytes) {
    return Error::invalid("", "a line has at most " + std::to_string(kMaxLineBytes) + " bytes");
  }
  json::parse_options limits;
  limits.max_depth = kMaxDepth;
  json::error_code failure;
  json::value parsed = json::parse(line, failure, {}, limits);
  if (failure) return Error::invalid("", "not valid JSON: " + failure.message());
  if (!parsed.is_object()) return Error::invalid("", "a line must be a JSON object");
  return std::move(parsed.get_object());
}

Result<std::vector<TokenId>> encode_line(const Tokenizer& tokenizer, std::string_view line) {
  const auto given = parse_line(line);
  if (!given) return given.error();
  const json::value* text = given->if_contains("text");
  if (text == nullptr || !text->is_string()) return Error::invalid("text", "text must be a string");
  const auto add_special = flag(*given, "add_special");
  if (!add_special) return add_special.error();
  const auto parse_special = flag(*given, "parse_special");
  if (!parse_special) return parse_special.error();
  EncodeOptions options;
  options.add_special = *add_special;
  options.parse_special = *parse_special;
  options.keep_written_first = true;
  const json::string& value = text->get_string();
  return tokenizer.encode({value.data(), value.size()}, options);
}

json::object answer_line(const Tokenizer& tokenizer, std::string_view line) {
  const auto ids = encode_line(tokenizer, line);
  if (!ids) return {{"error", ids.error().message}};
  return {{"ids", json::array(ids->begin(), ids->end())}};
}

}  // namespace

int run_debug_tokenize(const std::filesystem::path& model, std::istream& in, std::ostream& out) {
  const auto tokenizer = load_tokenizer(model);
  if (!tokenizer) {
    out << json::serialize(json::object{{"error", tokenizer.error().message}}) << '\n';
    return 1;
  }
  return run_debug_tokenize(**tokenizer, in, out);
}

int run_debug_tokenize(const Tokenizer& tokenizer, std::istream& in, std::ostream& out) {
  std::string line;
  while (std::getline(in, line)) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    out << json::serialize(answer_line(tokenizer, line)) << '\n' << std::flush;
  }
  return out ? 0 : 1;
}

}  // namespace takt
