#include "load/request_body.h"

#include <boost/json.hpp>

namespace takt::load {

namespace json = boost::json;

const char* target_of(Endpoint endpoint) {
  return endpoint == Endpoint::kChat ? "/v1/chat/completions" : "/v1/completions";
}

std::string request_body(const RequestForm& form, const std::vector<Message>& messages, std::uint32_t output_tokens) {
  json::object body;
  if (!form.model.empty()) body["model"] = form.model;
  if (form.endpoint == Endpoint::kChat) {
    json::array list;
    for (const auto& message : messages) list.push_back({{"role", message.role}, {"content", message.content}});
    body["messages"] = std::move(list);
  } else {
    std::string prompt;
    for (const auto& message : messages) {
      if (!prompt.empty()) prompt += '\n';
      prompt += message.content;
    }
    body["prompt"] = std::move(prompt);
  }
  body[form.new_limit_name ? "max_completion_tokens" : "max_tokens"] = output_tokens;
  if (form.force_length) {
    body["min_tokens"] = output_tokens;
    body["ignore_eos"] = true;
  }
  if (form.temperature) body["temperature"] = *form.temperature;
  if (form.stream) {
    body["stream"] = true;
    body["stream_options"] = {{"include_usage", true}};
  }
  return json::serialize(body);
}

}  // namespace takt::load
