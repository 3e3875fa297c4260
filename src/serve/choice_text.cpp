#include "serve/choice_text.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace takt::serve {

std::uint32_t character_count(std::string_view text) {
  return static_cast<std::uint32_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

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
  text_.append(text);
  decoded_characters_ += character_count(text);
  if (logprobs_) std::move(tokens.begin(), tokens.end(), std::back_inserter(scored_));
}

bool ChoiceText::add(const SampledToken& token) {
  if (stops_.matched()) return true;
  ++tokens_;
  const std::string_view piece = tokenizer_.piece(token.token, false);
  if (logprobs_) {
    Held held{scored_token(tokenizer_, token), decoded_bytes_, decoded_bytes_, !piece.empty()};
    held.token.text_offset = decoded_characters_;
    held_.push_back(std::move(held));
  }
  decode(utf8_.push(piece));
  release_tokens(false);
  return stops_.matched();
}

bool ChoiceText::finish() {
  if (stops_.matched()) return true;
  decode(utf8_.finish());
  if (!stops_.matched()) {
    const std::string rest = stops_.finish();
    released_bytes_ += rest.size();
    text_ += rest;
  }
  release_tokens(!stops_.matched());
  return stops_.matched();
}

std::string ChoiceText::take_text() {
  return std::exchange(text_, {});
}

std::vector<api::ScoredToken> ChoiceText::take_tokens() {
  return std::exchange(scored_, {});
}

void ChoiceText::decode(std::string_view text) {
  if (text.empty()) return;
  decoded_bytes_ += text.size();
  decoded_characters_ += character_count(text);
  for (auto held = held_.rbegin(); held != held_.rend() && held->open; ++held) {
    held->end = decoded_bytes_;
    held->open = false;
  }
  const std::string released = stops_.push(text);
  released_bytes_ += released.size();
  text_ += released;
}

// A token goes out when all of its text has: one that holds a part of a stop string never does.
void ChoiceText::release_tokens(bool all) {
  while (!held_.empty() && (all || (!held_.front().open && held_.front().end <= released_bytes_))) {
    scored_.push_back(std::move(held_.front().token));
    held_.pop_front();
  }
}

}  // namespace takt::serve
