// Conversations and texts -> token ids of a model.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "api/generation_request.h"
#include "base/result.h"
#include "core/ids.h"
#include "serve/model_registry.h"

namespace takt::serve {

struct BuiltPrompt {
  std::string text;  // as tokenized; for a token prompt, the text of its tokens
  std::vector<TokenId> tokens;
};

// Prompts that are to be answered are counted to the end up to so many contexts, for the error's sake. Beyond, they are
// hopeless, and counting them would only keep a text worker from others' work.
inline constexpr std::size_t kCountedContexts = 4;

enum class Purpose { kAnswer, kCount };

// Renders the model's chat template and tokenizes it. Control tokens come from the template only, never from message
// content; BOS stands once. Errors: kUnsupported (no chat template), kInvalidArgument (the template's own words; an
// empty prompt), kContextLength (to be answered, but not even one token of output would fit).
Result<BuiltPrompt> build_chat_prompt(const ServedModel& model, const api::Conversation& conversation, Purpose purpose);

// A plain prompt to be answered is written by hand, control tokens included. `field`: its place in the request, for
// errors. Errors: as above.
Result<BuiltPrompt> build_plain_prompt(const ServedModel& model, const api::Prompt& prompt, const std::string& field);

// The bytes of the tokens, without control tokens and without the space that some tokenizers put before a text.
std::string text_of(const Tokenizer& tokenizer, const std::vector<TokenId>& tokens);

// Errors: kInvalidArgument when a token is not in the vocabulary, by its place in the list `field` or by its key.
Status check_in_vocabulary(const ServedModel& model, const std::vector<TokenId>& tokens, const std::string& field);
Status check_in_vocabulary(const ServedModel& model, const std::vector<LogitBias>& biases);

}  // namespace takt::serve
