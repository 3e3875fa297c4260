#include "kv/block_pool.h"

namespace takt {

BlockPool::BlockPool(std::uint32_t block_count) : owners_(block_count, BlockOwner::kFree), references_(block_count, 0) {
  free_.reserve(block_count);
  for (std::uint32_t i = block_count; i > 0; --i) free_.push_back(BlockId(i - 1));
}

std::optional<BlockId> BlockPool::reserve() {
  if (free_.empty()) return std::nullopt;
  const BlockId block = free_.back();
  free_.pop_back();
  owners_[block.value] = BlockOwner::kReserved;
  return block;
}

void BlockPool::unreserve(BlockId block) noexcept {
  if (owner(block) != BlockOwner::kReserved) return;
  owners_[block.value] = BlockOwner::kFree;
  free_.push_back(block);
}

void BlockPool::commit(BlockId block) noexcept {
  if (owner(block) != BlockOwner::kReserved) return;
  owners_[block.value] = BlockOwner::kCommitted;
  references_[block.value] = 1;
}

void BlockPool::share(BlockId block) noexcept {
  if (owner(block) == BlockOwner::kCached) {
    owners_[block.value] = BlockOwner::kCommitted;
    --cached_;
  } else if (owner(block) != BlockOwner::kCommitted) {
    return;
  }
  ++references_[block.value];
}

bool BlockPool::release(BlockId block, bool keep_cached) noexcept {
  if (owner(block) != BlockOwner::kCommitted) return false;
  if (--references_[block.value] > 0) return false;
  if (keep_cached) {
    owners_[block.value] = BlockOwner::kCached;
    ++cached_;
  } else {
    owners_[block.value] = BlockOwner::kFree;
    free_.push_back(block);
  }
  return true;
}

void BlockPool::evict(BlockId block) noexcept {
  if (owner(block) != BlockOwner::kCached) return;
  owners_[block.value] = BlockOwner::kFree;
  --cached_;
  free_.push_back(block);
}

}  // namespace takt
