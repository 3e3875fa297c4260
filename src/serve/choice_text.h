// From one choice's tokens to the text and logprobs that may be sent. No locks, no I/O: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/answer.h"
#include "core/step.h"
#include "serve/token_trail.h"
#include "text/stop_matcher.h"
#include "text/tokenizer.h"

namespace takt::serve {

// A token's spelling as logprobs show it.
api::ScoredToken scored_token(const Tokenizer& tokenizer, const SampledToken& token);

class ChoiceText {
 public:
  // The tokenizer outlives this object.
  ChoiceText(const Tokenizer& tokenizer, std::vector<std::string> stops, bool logprobs);

  // Puts the prompt before the answer (echo). Stop strings are not looked for in it. Before the first add().
  void echo(std::string_view text, std::vector<api::ScoredToken> tokens);

  // Takes the next token. True when it completed a stop string: the answer ends before that string, and later tokens
  // are to be dropped.
  bool add(const SampledToken& token);
  // Releases what was held back for a stop string or a character that did not come. True when that completed a stop
  // string after all.
  bool finish();

  std::uint32_t tokens() const { return tokens_; }  // taken by add()

  // What may be sent and was not taken yet.
  bool has_news() const { return !text_.empty() || !scored_.empty(); }
  std::string take_text();
  std::vector<api::ScoredToken> take_tokens();

 private:
  void release(std::string_view text);

  const Tokenizer& tokenizer_;
  const bool logprobs_;
  Utf8Stream utf8_;  // without logprobs; with them, the trail decodes
  TokenTrail trail_;
  TokenOffsets offsets_;
  StopMatcher stops_;
  std::size_t released_bytes_ = 0;  // of the answer, echo apart
  std::uint32_t tokens_ = 0;
  std::string text_;
  std::vector<api::ScoredToken> scored_;
};

}  // namespace takt::serve
