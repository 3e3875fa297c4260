// The memory of the KV blocks: reserved at once, taken from the system page by page when first written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "kernels/attention.h"

namespace takt {

class KvArena {
 public:
  // Errors: kResourceExhausted when the address space or the memory limit does not allow it.
  static Result<KvArena> create(const KvLayout& layout, std::uint32_t blocks);
  ~KvArena();
  KvArena(KvArena&& other) noexcept;
  KvArena& operator=(KvArena&&) = delete;

  const KvBlocks& cache() const { return cache_; }
  std::span<std::byte> block(std::uint32_t index) const {
    return {cache_.data + index * cache_.layout.block_bytes(), cache_.layout.block_bytes()};
  }

 private:
  explicit KvArena(KvBlocks cache) : cache_(cache) {}
  std::size_t bytes() const { return cache_.block_count * cache_.layout.block_bytes(); }

  KvBlocks cache_;
};

}  // namespace takt
