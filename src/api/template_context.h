// A conversation -> the object that a chat template reads.
#pragma once

#include <string>
#include <string_view>

#include "api/generation_request.h"

namespace takt::api {

// JSON text of an object: messages, tools and documents (always defined, null), bos_token and eos_token when not empty,
// add_generation_prompt, and the caller's chat_template_kwargs.
std::string template_context(const Conversation& conversation, std::string_view bos_token, std::string_view eos_token);

}  // namespace takt::api
