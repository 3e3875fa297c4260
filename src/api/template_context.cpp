#include "api/template_context.h"

#include <boost/json.hpp>

#include "api/utf8_text.h"

namespace takt::api {

namespace json = boost::json;

std::string template_context(const Conversation& conversation, std::string_view bos_token, std::string_view eos_token) {
  // The conversation's parts are JSON already; taking them apart again would cost time for nothing.
  std::string context = "{\"messages\":" + conversation.messages + ",\"tools\":null,\"documents\":null";
  if (!bos_token.empty()) context += ",\"bos_token\":" + json::serialize(json::value(to_utf8(bos_token)));
  if (!eos_token.empty()) context += ",\"eos_token\":" + json::serialize(json::value(to_utf8(eos_token)));
  context +=
      conversation.add_generation_prompt ? ",\"add_generation_prompt\":true" : ",\"add_generation_prompt\":false";
  if (conversation.template_kwargs.size() > 2)
    context += "," + conversation.template_kwargs.substr(1, conversation.template_kwargs.size() - 2);
  return context + "}";
}

}  // namespace takt::api
