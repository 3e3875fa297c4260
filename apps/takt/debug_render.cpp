#include "debug_render.h"

#include <boost/json.hpp>
#include <istream>
#include <ostream>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "text/chat_template.h"

namespace takt {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxLineBytes = std::size_t{64} << 20;
constexpr std::size_t kMaxDepth = 120;  // below what the template engine accepts

Result<TemplateContext> context_of_line(std::string_view line) {
  if (line.size() > kMaxLineBytes) {
    return Error::invalid("", "a line has at most " + std::to_string(kMaxLineBytes) + " bytes");
  }
  json::parse_options limits;
  limits.max_depth = kMaxDepth;
  json::error_code failure;
  json::value parsed = json::parse(line, failure, {}, limits);
  if (failure) return Error::invalid("", "not valid JSON: " + failure.message());
  if (!parsed.is_object()) return Error::invalid("", "a line must be a JSON object");

  json::object& given = parsed.get_object();
  json::object context;
  for (const char* name : {"messages", "tools", "documents"}) {
    const json::value* value = given.if_contains(name);
    context[name] = value == nullptr ? json::value(nullptr) : *value;
  }
  TemplateContext result;
  result.alias_thinking = false;  // the template sees the messages as they are given
  if (const json::value* options = given.if_contains("options"); options != nullptr && !options->is_null()) {
    if (!options->is_object()) return Error::invalid("options", "options must be an object");
    for (const auto& member : options->get_object()) {
      if (member.key() == "continue_final_message") {
        result.continue_final_message = member.value() == json::value(true);
      } else {
        context[member.key()] = member.value();
      }
    }
  }
  if (const json::value* now = given.if_contains("now")) context["now"] = *now;
  result.json = json::serialize(context);
  return result;
}

json::object answer_line(const ChatTemplate& compiled, std::string_view line) {
  const auto context = context_of_line(line);
  if (!context) return {{"error", context.error().message}};
  auto rendered = compiled.render(*context);
  if (!rendered) return {{"error", rendered.error().message}};
  json::object answer{{"output", rendered->text}};
  if (!rendered->untrusted.empty()) {
    json::array ranges;
    for (const TextRange& range : rendered->untrusted) ranges.push_back(json::array{range.begin, range.end});
    answer["untrusted"] = std::move(ranges);
  }
  return answer;
}

}  // namespace

int run_debug_render(std::string template_source, std::istream& in, std::ostream& out,
                     std::vector<std::string> control_tokens) {
  const auto compiled = ChatTemplate::compile(template_source, std::move(control_tokens));
  if (!compiled) {
    out << json::serialize(json::object{{"error", compiled.error().message}}) << '\n';
    return 1;
  }
  std::string line;
  while (std::getline(in, line)) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    out << json::serialize(answer_line(**compiled, line)) << '\n' << std::flush;
  }
  return out ? 0 : 1;
}

}  // namespace takt
