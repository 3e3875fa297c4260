#include "api/parse_messages.h"

#include <algorithm>
#include <cmath>

namespace takt::api {

namespace json = boost::json;

namespace {

std::string item(std::string_view list, std::size_t index) {
  return std::string(list) + "[" + std::to_string(index) + "]";
}

// Role as templates know it.
std::optional<std::string> read_role(FieldReader& message) {
  auto role = message.string("role", 64);
  if (!role) {
    message.fail("role", "must be one of system, developer, user, assistant");
    return std::nullopt;
  }
  if (*role == "developer") return "system";
  if (*role == "system" || *role == "user" || *role == "assistant") return role;
  if (*role == "tool" || *role == "function") {
    message.fail("role", "is not supported yet as tool or function", ErrorCode::kUnsupported);
  } else {
    message.fail("role", "must be one of system, developer, user, assistant");
  }
  return std::nullopt;
}

std::optional<std::string> read_part(const json::value& value, const std::string& path, const ApiOptions& limits,
                                     FieldReader& message) {
  const json::object* object = value.if_object();
  if (object == nullptr) {
    message.fail_with(Error::invalid(
        path, "'" + path + "' must be an object with \"type\" and \"text\", not " + std::string(kind_name(value))));
    return std::nullopt;
  }
  FieldReader part(*object, path);
  const auto type = part.string("type", 64);
  if (!type) {
    part.fail("type", "must be \"text\"");
  } else if (*type != "text") {
    part.fail("type", "is not supported: only \"text\" is, this model reads no images, audio or files",
              ErrorCode::kUnsupported);
  } else if (auto text = part.string("text", std::string::npos)) {
    if (limits.strict) part.refuse_unread();
    if (!part.failed()) return text;
  } else {
    part.fail("text", "must be a string");
  }
  message.fail_with(part.status().error());
  return std::nullopt;
}

std::optional<std::string> read_content(FieldReader& message, const ApiOptions& limits) {
  const json::value* content = message.any("content");
  if (content == nullptr) {
    message.fail("content", "must be a string or a list of text parts");
    return std::nullopt;
  }
  if (content->is_string()) return message.string("content", std::string::npos);
  const json::array* parts = message.array("content", limits.max_content_parts);
  if (parts == nullptr) return std::nullopt;
  std::string text;
  for (std::size_t i = 0; i < parts->size(); ++i) {
    const auto part = read_part((*parts)[i], item(message.path_of("content"), i), limits, message);
    if (!part) return std::nullopt;
    if (i > 0) text += '\n';
    text += *part;
  }
  return text;
}

void refuse_tool_history(FieldReader& message) {
  for (const std::string_view name : {"tool_calls", "function_call", "audio"}) {
    const json::value* value = message.any(name);
    const bool empty_list = value != nullptr && value->is_array() && value->get_array().empty();
    if (value != nullptr && !empty_list)
      message.fail(name, "is not supported yet in messages", ErrorCode::kUnsupported);
  }
}

json::object read_message(FieldReader& message, const ApiOptions& limits) {
  json::object out;
  if (const auto role = read_role(message)) out["role"] = *role;
  refuse_tool_history(message);
  if (const auto content = read_content(message, limits)) out["content"] = *content;
  if (const auto name = message.string("name", limits.max_name_bytes)) out["name"] = *name;
  if (const auto reasoning = message.string("reasoning_content", std::string::npos))
    out["reasoning_content"] = *reasoning;
  message.any("refusal");
  message.any("annotations");
  return out;
}

std::string read_messages(FieldReader& fields, const ApiOptions& limits) {
  const json::array* messages = fields.array("messages", limits.max_messages);
  if (messages == nullptr || messages->empty()) {
    fields.fail("messages", "must be a list of at least one message");
    return {};
  }
  json::array out;
  out.reserve(messages->size());
  for (std::size_t i = 0; i < messages->size(); ++i) {
    const std::string path = item(fields.path_of("messages"), i);
    const json::object* object = (*messages)[i].if_object();
    if (object == nullptr) {
      fields.fail_with(
          Error::invalid(path, "'" + path + "' must be an object, not " + std::string(kind_name((*messages)[i]))));
      return {};
    }
    FieldReader message(*object, path);
    out.emplace_back(read_message(message, limits));
    if (limits.strict) message.refuse_unread();
    if (message.failed()) {
      fields.fail_with(message.status().error());
      return {};
    }
  }
  return json::serialize(out);
}

// What the server itself puts into a template's context, or keeps out of it, cannot be overwritten from outside: the
// conversation, the clock, the functions, and the control tokens, which would be trusted. `chat_template` and
// `tokenize` are arguments of Hugging Face's apply_chat_template, not variables.
constexpr std::string_view kReservedVariables[] = {
    "messages", "tools",        "documents",       "add_generation_prompt", "continue_final_message",
    "now",      "strftime_now", "raise_exception", "chat_template",         "tokenize",
#include "token_names.inc"  // one in each line of bridge/token_names.txt
};

// The path of a number that no double stands for; empty when there is none. As deep as the parser lets it be.
std::string lost_number(const json::value& value, const std::string& path) {
  if (value.is_double() && std::isnan(value.get_double())) return path;
  std::string found;
  if (const auto* list = value.if_array()) {
    for (std::size_t i = 0; i < list->size() && found.empty(); ++i) found = lost_number((*list)[i], item(path, i));
  } else if (const auto* object = value.if_object()) {
    for (auto member = object->begin(); member != object->end() && found.empty(); ++member) {
      found = lost_number(member->value(), path + "." + std::string(std::string_view(member->key()).substr(0, 64)));
    }
  }
  return found;
}

std::string read_template_kwargs(FieldReader& fields) {
  const json::object* kwargs = fields.object("chat_template_kwargs");
  if (kwargs == nullptr || kwargs->empty()) return {};
  for (const std::string_view reserved : kReservedVariables) {
    if (kwargs->contains(reserved)) {
      fields.fail("chat_template_kwargs." + std::string(reserved), "is the server's own and cannot be set");
      return {};
    }
  }
  const std::string lost = lost_number(*fields.any("chat_template_kwargs"), fields.path_of("chat_template_kwargs"));
  if (!lost.empty()) {
    fields.fail_with(
        Error::invalid(lost, "'" + lost + "' must be an integer of 64 bits or a number that a double holds"));
    return {};
  }
  return json::serialize(*kwargs);
}

}  // namespace

Conversation read_conversation(FieldReader& fields, const ApiOptions& limits) {
  Conversation conversation;
  conversation.messages = read_messages(fields, limits);
  conversation.template_kwargs = read_template_kwargs(fields);
  conversation.continue_final_message = fields.boolean("continue_final_message").value_or(false);
  const auto add_prompt = fields.boolean("add_generation_prompt");
  if (conversation.continue_final_message && add_prompt.value_or(false)) {
    fields.fail("continue_final_message", "and 'add_generation_prompt' cannot both be true");
  }
  conversation.add_generation_prompt = add_prompt.value_or(!conversation.continue_final_message);
  return conversation;
}

}  // namespace takt::api
