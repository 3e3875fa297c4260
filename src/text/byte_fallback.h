// What becomes of characters that a vocabulary has no token for: their bytes, or else one unknown token per run of
// them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/model_vocabulary.h"

namespace takt {

class ByteFallback {
 public:
  explicit ByteFallback(const ModelVocabulary& vocabulary);

  // Id of a byte's token, or -1.
  TokenId byte_token(char byte) const { return tokens_[static_cast<std::uint8_t>(byte)]; }

  // Every byte has a token of its own.
  bool covers_all() const;

  // Appends the tokens for bytes without a token of their own.
  void append(std::string_view bytes, std::vector<TokenId>& out) const;

 private:
  std::array<TokenId, 256> tokens_{};
  std::optional<TokenId> unknown_;
};

}  // namespace takt
