// The blocks of one KV group: who owns each and how many sequences refer to it. Ids and counts only.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/ids.h"

namespace takt {

enum class BlockOwner : std::uint8_t {
  kFree,
  kReserved,   // taken for the step under way
  kCommitted,  // in the tables of one or more sequences
  kCached,     // in no table, kept for a later prompt
};

// Every transition names the owner it starts from; calling it from another one is a fault of the caller's and does
// nothing.
class BlockPool {
 public:
  explicit BlockPool(std::uint32_t block_count);

  std::optional<BlockId> reserve();        // free -> reserved; empty when nothing is free
  void unreserve(BlockId block) noexcept;  // reserved -> free
  void commit(BlockId block) noexcept;     // reserved -> committed, one reference
  void share(BlockId block) noexcept;      // committed or cached -> committed, one reference more
  // One reference less. At the last one the block becomes cached or free, as asked. True when it was the last.
  bool release(BlockId block, bool keep_cached) noexcept;
  void evict(BlockId block) noexcept;  // cached -> free

  BlockOwner owner(BlockId block) const { return owners_[block.value]; }
  std::uint32_t references(BlockId block) const { return references_[block.value]; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(owners_.size()); }
  std::uint32_t free_count() const { return static_cast<std::uint32_t>(free_.size()); }
  std::uint32_t cached_count() const { return cached_; }

 private:
  std::vector<BlockOwner> owners_;
  std::vector<std::uint32_t> references_;
  std::vector<BlockId> free_;  // a stack: what was used last is warm
  std::uint32_t cached_ = 0;
};

}  // namespace takt
