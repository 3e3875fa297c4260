// Which tokens a choice's text comes from: what logprobs show. No locks, no I/O: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string_view>
#include <vector>

#include "api/answer.h"
#include "text/detokenizer.h"

namespace takt::serve {

// Code points of UTF-8 text.
std::uint32_t character_count(std::string_view text);

// Where each token of a text begins, in characters. A token that begins inside a character begins where that does.
class TokenOffsets {
 public:
  // characters: of the text before the first token.
  explicit TokenOffsets(std::uint32_t characters = 0) : characters_(characters) {}
  std::uint32_t next(std::string_view piece);

 private:
  Utf8Stream utf8_;
  std::uint32_t characters_;
};

// Decodes tokens and keeps those whose text is not wholly released yet.
class TokenTrail {
 public:
  // The text that the token releases from the decoder.
  std::string add(api::ScoredToken token, std::string_view piece);
  // What the decoder still holds, at the end.
  std::string finish();

  // Takes out, in order, the tokens whose text lies wholly in the first `bytes` of all that was decoded.
  void take(std::size_t bytes, std::vector<api::ScoredToken>& out);
  // The text ends after `bytes`: takes them out too, the last one cut to its bytes that are part of the text, and
  // forgets the rest.
  void take_cut(std::size_t bytes, std::vector<api::ScoredToken>& out);

 private:
  struct Held {
    api::ScoredToken token;
    std::size_t bytes = 0;
    std::vector<std::size_t> ends;  // of its decoded bytes: where their characters end in the decoded text
  };

  void settle(std::size_t end);

  Utf8Stream utf8_;
  std::size_t decoded_ = 0;  // bytes of text
  std::deque<Held> held_;
};

}  // namespace takt::serve
