#include "exec/fake/fake_pieces.h"

#include <algorithm>
#include <string_view>

namespace takt {

namespace {
constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz ";
}

FakePieces::FakePieces(const FakeScript& script) {
  const std::size_t size = script.bytes_per_token;
  for (std::size_t at = 0; at < script.text.size(); at += size) text_.push_back(token_of(script.text.substr(at, size)));
  for (std::size_t i = 0; i < kLetters.size(); ++i) {
    std::string piece;
    for (std::size_t j = 0; j < size; ++j) piece += kLetters[(i + 7 * j) % kLetters.size()];
    letters_.push_back(token_of(piece));
  }
}

TokenId FakePieces::token_of(const std::string& piece) {
  if (piece.size() == 1) return static_cast<unsigned char>(piece[0]);
  const auto it = std::find(extra_.begin(), extra_.end(), piece);
  const auto at = static_cast<TokenId>(it - extra_.begin());
  if (it == extra_.end()) extra_.push_back(piece);
  return kFakeImEnd + 1 + at;
}

}  // namespace takt
