// The event that streams are made of, read in one pass and without a document of it: a token's text and nothing else.
#pragma once

#include <string_view>

#include "load/answer_events.h"

namespace takt::load {

// True: these bytes are an event that tells a token's text, or nothing, and `event` (new when given) says so as
// read_answer_event would. False: there may be more to it, or it is no JSON; then `event` is of no use, and
// read_answer_event decides.
bool read_token_event(std::string_view json, bool keep_text, AnswerEvent& event);

}  // namespace takt::load
