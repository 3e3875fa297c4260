#include "text/token_table.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

namespace takt {
namespace {

std::uint32_t hash_of(std::string_view text) {
  return static_cast<std::uint32_t>(XXH3_64bits(text.data(), text.size()));
}

std::size_t capacity_for(std::size_t entries) {
  std::size_t capacity = 16;
  while (capacity < entries * 2) capacity *= 2;
  return capacity;
}

}  // namespace

TokenTable::TokenTable(const std::vector<std::pair<std::string_view, TokenId>>& entries)
    : slots_(capacity_for(entries.size())) {
  std::size_t bytes = 0;
  for (const auto& [text, id] : entries) bytes += text.size();
  keys_.reserve(bytes);
  for (const auto& [text, id] : entries) {
    const std::uint32_t hash = hash_of(text);
    Slot& slot = place_of(text, hash);
    if (slot.id < 0) {
      slot = {hash, id, static_cast<std::uint32_t>(keys_.size()), static_cast<std::uint32_t>(text.size())};
      keys_.append(text);
      longest_ = std::max(longest_, text.size());
    }
    slot.id = id;
  }
}

TokenTable::Slot& TokenTable::place_of(std::string_view text, std::uint32_t hash) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  while (slots_[at].id >= 0) {
    const Slot& slot = slots_[at];
    if (slot.hash == hash && std::string_view(keys_).substr(slot.offset, slot.length) == text) break;
    at = (at + 1) & mask;
  }
  return slots_[at];
}

std::optional<TokenId> TokenTable::find(std::string_view text) const {
  if (slots_.empty() || text.size() > longest_) return std::nullopt;
  const std::uint32_t hash = hash_of(text);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = hash & mask; slots_[at].id >= 0; at = (at + 1) & mask) {
    const Slot& slot = slots_[at];
    if (slot.hash == hash && std::string_view(keys_).substr(slot.offset, slot.length) == text) return slot.id;
  }
  return std::nullopt;
}

}  // namespace takt
