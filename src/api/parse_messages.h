// Chat messages, checked and made uniform for templates. Internal to this folder.
#pragma once

#include "api/generation_request.h"
#include "api/json_fields.h"
#include "api/options.h"

namespace takt::api {

// Reads messages, chat_template_kwargs, add_generation_prompt and continue_final_message. Lists of text parts become
// one string, parts joined by a newline; the role `developer` becomes `system`, which is what templates know; keys
// without a value are dropped.
Conversation read_conversation(FieldReader& fields, const ApiOptions& limits);

}  // namespace takt::api
