#include "debug_render.h"

#include <boost/json.hpp>
#include <istream>
#include <ostream>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "json_line.h"
#include "text/chat_template.h"

namespace takt {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxDepth = 120;  // below what the template engine accepts

Result<TemplateContext> context_of(const json::object& given) {
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

Result<json::object> answer(const ChatTemplate& compiled, const json::object& given) {
  const auto context = context_of(given);
  if (!context) return context.error();
  auto rendered = compiled.render(*context);
  if (!rendered) return rendered.error();
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
    put_error_line(out, compiled.error());
    return 1;
  }
  const auto render = [&](const json::object& given) { return answer(**compiled, given); };
  return filter_json_lines(in, out, kMaxDepth, render) ? 0 : 1;
}

}  // namespace takt
