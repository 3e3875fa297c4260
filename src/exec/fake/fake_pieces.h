// The tokens that a fake executor answers with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/ids.h"
#include "exec/fake/fake_script.h"

namespace takt {

// Byte tokens where a token is one byte, else tokens of their own behind the control tokens.
class FakePieces {
 public:
  explicit FakePieces(const FakeScript& script);

  const std::vector<TokenId>& text() const { return text_; }  // the scripted text as tokens
  TokenId letter(std::uint64_t number) const { return letters_[number % letters_.size()]; }
  const std::vector<std::string>& extra_pieces() const { return extra_; }
  std::uint32_t vocab_size() const { return static_cast<std::uint32_t>(kFakeImEnd + 1 + extra_.size()); }

 private:
  TokenId token_of(const std::string& piece);

  std::vector<std::string> extra_;
  std::vector<TokenId> text_;
  std::vector<TokenId> letters_;
};

}  // namespace takt
