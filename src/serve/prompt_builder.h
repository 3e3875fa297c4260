// Conversations and texts -> token ids of a model.
#pragma once

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

// Renders the model's chat template and tokenizes it. Control tokens come from the template only, never from message
// content; BOS stands once. Errors: kUnsupported (no chat template), kInvalidArgument (the template's own words; an
// empty prompt).
Result<BuiltPrompt> build_chat_prompt(const ServedModel& model, const api::Conversation& conversation);

// A plain prompt is written by hand, control tokens included. `field`: its place in the request, for errors.
Result<BuiltPrompt> build_plain_prompt(const ServedModel& model, const api::Prompt& prompt, const std::string& field);

// The bytes of the tokens, without control tokens and without the space that some tokenizers put before a text.
std::string text_of(const Tokenizer& tokenizer, const std::vector<TokenId>& tokens);

// Errors: kContextLength with both numbers when not even one token of output would fit.
Status check_fits(const ServedModel& model, std::size_t prompt_tokens, const std::string& field);

// Errors: kInvalidArgument when a token is not in the vocabulary, by its place in the list `field` or by its key.
Status check_in_vocabulary(const ServedModel& model, const std::vector<TokenId>& tokens, const std::string& field);
Status check_in_vocabulary(const ServedModel& model, const std::vector<LogitBias>& biases);

}  // namespace takt::serve
