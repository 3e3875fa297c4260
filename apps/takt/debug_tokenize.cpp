#include "debug_tokenize.h"

#include <boost/json.hpp>
#include <istream>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "json_line.h"
#include "model/gguf.h"
#include "model/vocabulary.h"
#include "text/tokenizer.h"

namespace takt {
namespace {

namespace json = boost::json;

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

Result<std::vector<TokenId>> encode(const Tokenizer& tokenizer, const json::object& given) {
  const json::value* text = given.if_contains("text");
  if (text == nullptr || !text->is_string()) return Error::invalid("text", "text must be a string");
  const auto add_special = flag(given, "add_special");
  if (!add_special) return add_special.error();
  const auto parse_special = flag(given, "parse_special");
  if (!parse_special) return parse_special.error();
  EncodeOptions options;
  options.add_special = *add_special;
  options.parse_special = *parse_special;
  options.keep_written_first = true;
  const json::string& value = text->get_string();
  return tokenizer.encode({value.data(), value.size()}, options);
}

}  // namespace

int run_debug_tokenize(const std::filesystem::path& model, std::istream& in, std::ostream& out) {
  const auto tokenizer = load_tokenizer(model);
  if (!tokenizer) {
    put_error_line(out, tokenizer.error());
    return 1;
  }
  return run_debug_tokenize(**tokenizer, in, out);
}

int run_debug_tokenize(const Tokenizer& tokenizer, std::istream& in, std::ostream& out) {
  const auto answer = [&](const json::object& given) -> Result<json::object> {
    const auto ids = encode(tokenizer, given);
    if (!ids) return ids.error();
    return json::object{{"ids", json::array(ids->begin(), ids->end())}};
  };
  return filter_json_lines(in, out, kMaxDepth, answer) ? 0 : 1;
}

}  // namespace takt
