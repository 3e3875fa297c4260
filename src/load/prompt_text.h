// Texts of a given number of tokens, without a tokenizer at the moment of writing: they are made of pieces that are one
// token each, wherever they stand.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "load/planned_request.h"

namespace takt::load {

// Tokens of a text by the server's tokenizer, without those that are put around it.
using CountTokens = std::function<Result<std::uint32_t>(std::string_view text)>;

struct Palette {
  std::vector<std::string> pieces;
  double tokens_per_piece = 1.0;  // not 1: estimated
  bool exact = false;
  std::string source;  // for the report: how this is known
};

// Common words that are one token each; where there are few such words (bytes as tokens), letters. Asks `count` some
// dozens of times. A palette that is not exact where neither is additive.
Result<Palette> find_palette(const CountTokens& count, std::string source);
// When nobody counts: words, at a number of tokens each that was seen in the usage of requests.
Palette estimated_palette(double tokens_per_word, std::string source);

class PromptWriter {
 public:
  // `salt`: another one makes other texts of the same seeds and hashes, equal where those of one writer are equal.
  explicit PromptWriter(Palette palette, std::uint64_t salt = 0) : palette_(std::move(palette)), salt_(salt) {}

  // `overhead`: tokens that the server adds (a template). The text has prompt_tokens - overhead tokens, at least one.
  std::string write(const PlannedRequest& request, std::uint32_t overhead) const;
  // `tokens` of text that is a function of `seed`.
  std::string write(std::uint64_t seed, std::uint32_t tokens) const;

  const Palette& palette() const { return palette_; }

 private:
  void append(std::string& text, std::uint64_t seed, std::uint32_t tokens) const;

  Palette palette_;
  std::uint64_t salt_;
};

}  // namespace takt::load
