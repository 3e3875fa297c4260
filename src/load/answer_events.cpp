#include "load/answer_events.h"

#include <array>
#include <boost/json.hpp>

namespace takt::load {
namespace {

namespace json = boost::json;

const json::object* object_in(const json::object& parent, std::string_view name) {
  const auto* value = parent.if_contains(json::string_view(name.data(), name.size()));
  return value == nullptr ? nullptr : value->if_object();
}

std::string_view text_in(const json::object& parent, std::string_view name) {
  const auto* value = parent.if_contains(json::string_view(name.data(), name.size()));
  if (value == nullptr || !value->is_string()) return {};
  return {value->get_string().data(), value->get_string().size()};
}

std::optional<std::uint32_t> count_in(const json::object& parent, std::string_view name) {
  const auto* value = parent.if_contains(json::string_view(name.data(), name.size()));
  if (value == nullptr || !value->is_number()) return std::nullopt;
  boost::system::error_code error;
  const auto number = value->to_number<std::uint32_t>(error);
  return error ? std::nullopt : std::optional(number);
}

void take_delta(const json::object& delta, AnswerEvent& event, bool keep_text) {
  for (const auto* name : {"content", "text", "reasoning_content", "reasoning", "refusal"}) {
    const auto text = text_in(delta, name);
    if (text.empty()) continue;
    event.has_token = true;
    if (keep_text && (name[0] == 'c' || name[0] == 't')) event.text += text;
  }
  const auto* calls = delta.if_contains("tool_calls");
  if (calls != nullptr && calls->is_array() && !calls->get_array().empty()) event.has_token = true;
}

void take_choice(const json::object& choice, AnswerEvent& event, bool keep_text) {
  if (const auto* delta = object_in(choice, "delta")) {
    take_delta(*delta, event, keep_text);
  } else if (const auto* message = object_in(choice, "message")) {
    take_delta(*message, event, keep_text);
  } else {
    take_delta(choice, event, keep_text);
  }
  const auto* reason = choice.if_contains("finish_reason");
  if (reason != nullptr && reason->is_string()) event.finished = true;
}

void take_usage(const json::object& root, AnswerEvent& event) {
  if (const auto* usage = object_in(root, "usage")) {
    event.prompt_tokens = count_in(*usage, "prompt_tokens");
    event.completion_tokens = count_in(*usage, "completion_tokens");
    if (const auto* details = object_in(*usage, "prompt_tokens_details"))
      event.cached_tokens = count_in(*details, "cached_tokens");
  }
  const auto* own = object_in(root, "takt");
  if (own == nullptr) return;
  event.preemptions = count_in(*own, "preemptions");
  const auto* queue = own->if_contains("queue_seconds");
  if (queue != nullptr && queue->is_number()) event.queue = from_seconds(queue->to_number<double>());
}

void take_error(const json::object& root, AnswerEvent& event) {
  // Older servers say so in the object itself.
  if (text_in(root, "object") == "error") event.error = std::string(text_in(root, "message"));
  const auto* error = root.if_contains("error");
  if (error == nullptr || error->is_null()) return;
  event.error = error->is_string() ? std::string(error->get_string().c_str()) : std::string();
  if (const auto* fields = error->if_object()) {
    event.error = std::string(text_in(*fields, "message"));
    event.error_code = text_in(*fields, "code");
  }
}

}  // namespace

Result<AnswerEvent> read_answer_event(std::string_view text, bool keep_text) {
  std::array<unsigned char, 4096> room;  // NOLINT: the parser's memory, written before it is read
  json::monotonic_resource memory(room.data(), room.size());
  json::parse_options options;
  options.max_depth = kMaxEventDepth;
  boost::system::error_code error;
  const auto root = json::parse(json::string_view(text.data(), text.size()), error, &memory, options);
  if (error || !root.is_object()) return Error::invalid("", "an event is no JSON object");
  const auto& object = root.get_object();
  AnswerEvent event;
  take_error(object, event);
  const auto* choices = object.if_contains("choices");
  if (choices != nullptr && choices->is_array() && !choices->get_array().empty()) {
    if (const auto* first = choices->get_array().front().if_object()) take_choice(*first, event, keep_text);
  }
  take_usage(object, event);
  return event;
}

}  // namespace takt::load
