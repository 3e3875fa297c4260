#include "exec/cpu/kv_arena.h"

#include <sys/mman.h>

#include <string>
#include <utility>

namespace takt {

Result<KvArena> KvArena::create(const KvLayout& layout, std::uint32_t blocks) {
  const std::size_t bytes = blocks * layout.block_bytes();
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return Error{ErrorCode::kResourceExhausted, "no memory for a KV cache of " + std::to_string(bytes) + " bytes",
                 "kv_blocks"};
  }
  ::madvise(memory, bytes, MADV_HUGEPAGE);  // a wish: fewer TLB misses where the system grants it
  return KvArena(KvBlocks{static_cast<std::byte*>(memory), blocks, layout});
}

KvArena::KvArena(KvArena&& other) noexcept : cache_(std::exchange(other.cache_, {})) {}

KvArena::~KvArena() {
  if (cache_.data != nullptr) ::munmap(cache_.data, bytes());
}

}  // namespace takt
