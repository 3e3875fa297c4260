#include "text/charsmap.h"

namespace takt {
namespace {

// Darts-clone's unit.
bool has_leaf(std::uint32_t unit) {
  return ((unit >> 8U) & 1U) != 0;
}
std::uint32_t value(std::uint32_t unit) {
  return unit & 0x7FFFFFFFU;
}
std::uint32_t label(std::uint32_t unit) {
  return unit & 0x800000FFU;
}
std::uint32_t offset(std::uint32_t unit) {
  return (unit >> 10U) << ((unit & (1U << 9U)) >> 6U);
}

std::uint32_t little_endian(const std::uint8_t* bytes) {
  return bytes[0] | (std::uint32_t{bytes[1]} << 8U) | (std::uint32_t{bytes[2]} << 16U) |
         (std::uint32_t{bytes[3]} << 24U);
}

}  // namespace

Result<Charsmap> Charsmap::parse(const std::vector<std::uint8_t>& blob) {
  Charsmap map;
  if (blob.empty()) return map;
  constexpr std::size_t kUnit = sizeof(std::uint32_t);
  const std::size_t trie_bytes = blob.size() < kUnit ? 0 : little_endian(blob.data());
  if (blob.size() < kUnit || trie_bytes % kUnit != 0 || trie_bytes > blob.size() - kUnit) {
    return Error::invalid(
        "tokenizer.ggml.precompiled_charsmap",
        "tokenizer.ggml.precompiled_charsmap: its trie is longer than the blob or no whole number of units");
  }
  map.units_.reserve(trie_bytes / kUnit);
  for (std::size_t at = kUnit; at < kUnit + trie_bytes; at += kUnit)
    map.units_.push_back(little_endian(blob.data() + at));
  map.replacements_.assign(blob.begin() + static_cast<std::ptrdiff_t>(kUnit + trie_bytes), blob.end());
  return map;
}

std::optional<Charsmap::Match> Charsmap::longest_match(std::string_view text) const {
  if (units_.empty()) return std::nullopt;
  std::optional<Match> best;
  std::size_t node = offset(units_[0]);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<std::uint8_t>(text[i]);
    if (byte == 0) break;  // the trie's keys are zero-ended
    node ^= byte;
    if (node >= units_.size() || label(units_[node]) != byte) break;
    const std::uint32_t unit = units_[node];
    node ^= offset(unit);
    if (!has_leaf(unit)) continue;
    if (node >= units_.size()) break;
    const std::size_t begin = value(units_[node]);
    if (begin >= replacements_.size()) break;
    const std::string_view rest = std::string_view(replacements_).substr(begin);
    best = Match{i + 1, rest.substr(0, rest.find('\0'))};
  }
  return best;
}

}  // namespace takt
