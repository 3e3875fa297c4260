#include "serve/choice_text.h"

#include <iterator>
#include <utility>

namespace takt::serve {

api::ScoredToken scored_token(const Tokenizer& tokenizer, const SampledToken& token) {
  api::ScoredToken scored;
  scored.bytes = tokenizer.piece(token.token, true);
  scored.logprob = token.logprob;
  scored.top.reserve(token.top.size());
  for (const TokenLogprob& candidate : token.top)
    scored.top.emplace_back(tokenizer.piece(candidate.token, true), candidate.logprob);
  return scored;
}

ChoiceText::ChoiceText(const Tokenizer& tokenizer, std::vector<std::string> stops, bool logprobs)
    : tokenizer_(tokenizer), logprobs_(logprobs), stops_(std::move(stops)) {}

void ChoiceText::echo(std::string_view text, std::vector<api::ScoredToken> tokens) {
  Utf8Stream utf8;
  const std::string valid = utf8.push(text) + utf8.finish();
  text_ += valid;
  offsets_ = TokenOffsets(character_count(valid));
  if (logprobs_) std::move(tokens.begin(), tokens.end(), std::back_inserter(scored_));
}

bool ChoiceText::add(const SampledToken& token) {
  if (stops_.matched()) return true;
  ++tokens_;
  const std::string_view piece = tokenizer_.piece(token.token, false);
  if (logprobs_) {
    api::ScoredToken scored = scored_token(tokenizer_, token);
    scored.text_offset = offsets_.next(piece);
    release(stops_.push(trail_.add(std::move(scored), piece)));
  } else {
    release(stops_.push(utf8_.push(piece)));
  }
  return stops_.matched();
}

bool ChoiceText::finish() {
  if (stops_.matched()) return true;
  std::string text = stops_.push(logprobs_ ? trail_.finish() : utf8_.finish());
  text += stops_.finish();
  release(text);
  return stops_.matched();
}

std::string ChoiceText::take_text() {
  return std::exchange(text_, {});
}

std::vector<api::ScoredToken> ChoiceText::take_tokens() {
  return std::exchange(scored_, {});
}

// A token goes out when all of its text has. Of one in which a stop string begins, only what lies before it.
void ChoiceText::release(std::string_view text) {
  released_bytes_ += text.size();
  text_ += text;
  if (stops_.matched()) {
    trail_.take_cut(released_bytes_, scored_);
  } else {
    trail_.take(released_bytes_, scored_);
  }
}

}  // namespace takt::serve
