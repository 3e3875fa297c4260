#include "text/tokenizer_core.h"

#include <charconv>
#include <utility>

#include "text/meta_words.h"

namespace takt {
namespace {

constexpr std::size_t kMaxTextBytes = std::size_t{1} << 30U;  // symbols count bytes in 32 bits

}  // namespace

TokenizerCore::TokenizerCore(ModelVocabulary vocabulary, const TokenizerTraits& traits)
    : vocabulary_(std::move(vocabulary)), special_(vocabulary_, traits.spaces_as_meta), traits_(traits) {}

Result<std::vector<TokenId>> TokenizerCore::encode(std::string_view text, const EncodeOptions& options) const {
  if (text.size() > kMaxTextBytes) {
    return Error{
        ErrorCode::kResourceExhausted, "the text is longer than " + std::to_string(kMaxTextBytes) + " bytes", {}};
  }
  std::vector<TokenId> ids;
  const bool add_first = options.add_special && traits_.first.has_value();
  if (add_first) ids.push_back(*traits_.first);
  bool after_special = true;
  Status status;
  special_.split(text, options.parse_special, options.untrusted, [&](const TextSegment& segment) {
    if (!status) return;
    if (segment.token >= 0) {
      const bool first_again = add_first && ids.size() == 1 && segment.begin == 0 && segment.token == ids[0];
      if (!first_again || options.keep_written_first) ids.push_back(segment.token);
      after_special = true;
    } else {
      const std::string_view plain = text.substr(segment.begin, segment.end - segment.begin);
      status = encode_plain(plain, after_special, options.max_tokens, ids);
      after_special = false;
    }
    if (status && ids.size() > options.max_tokens) status = too_many_tokens(options.max_tokens);
  });
  if (!status) return status.error();
  if (options.add_special && traits_.last) ids.push_back(*traits_.last);
  if (ids.size() > options.max_tokens) return too_many_tokens(options.max_tokens);
  return ids;
}

Error TokenizerCore::too_many_tokens(std::size_t most) {
  return {ErrorCode::kContextLength, "the text has more than " + std::to_string(most) + " tokens", {}};
}

std::string_view TokenizerCore::piece(TokenId token, bool special) const {
  if (token < 0 || static_cast<std::size_t>(token) >= vocabulary_.types.size()) return {};
  const auto id = static_cast<std::size_t>(token);
  if (!special && is_hidden(id)) return {};
  return std::string_view(pieces_).substr(piece_begin_[id], piece_begin_[id + 1] - piece_begin_[id]);
}

bool TokenizerCore::is_hidden(std::size_t id) const {
  const TokenType type = vocabulary_.types[id];
  if (type == TokenType::kControl || type == TokenType::kUnknown) return true;
  // Gemma's HTML tag: taken from a text as one token, but never shown, since it is spelled like other models' end.
  return type == TokenType::kUserDefined && vocabulary_.tokens[id] == "</s>";
}

void TokenizerCore::drop_build_data() {
  vocabulary_.merges = {};
  vocabulary_.precompiled_charsmap = {};
}

std::string TokenizerCore::decode_byte_token(std::string_view token) {
  if (const auto value = byte_token_value(token)) return std::string(1, static_cast<char>(*value));
  return std::string(token);
}

std::optional<std::uint8_t> byte_token_value(std::string_view token) {
  if (token.size() != 6 || token.substr(0, 3) != "<0x" || token[5] != '>') return std::nullopt;
  std::uint8_t value = 0;
  const auto [end, error] = std::from_chars(token.data() + 3, token.data() + 5, value, 16);
  if (error != std::errc() || end != token.data() + 5) return std::nullopt;
  return value;
}

std::string meta_to_spaces(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t meta = text.find(kMetaSpace);
    out.append(text.substr(0, meta));
    if (meta == std::string_view::npos) break;
    out.push_back(' ');
    text.remove_prefix(meta + kMetaSpace.size());
  }
  return out;
}

void append_spaces_as_meta(std::string_view text, std::string& out) {
  while (!text.empty()) {
    const std::size_t space = text.find(' ');
    out.append(text.substr(0, space));
    if (space == std::string_view::npos) break;
    out.append(kMetaSpace);
    text.remove_prefix(space + 1);
  }
}

}  // namespace takt
