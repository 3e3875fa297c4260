#include "swap/open_store.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "swap/arena_store.h"

namespace takt {

namespace {

std::size_t kv_pool_bytes(std::span<const KvGroupInfo> groups) {
  std::size_t bytes = 0;
  for (const KvGroupInfo& group : groups) bytes += group.block_bytes * group.block_count;
  return bytes;
}

}  // namespace

std::size_t swap_page_bytes(std::span<const KvGroupInfo> groups) {
  const BlockGeometry geometry = block_geometry(groups);
  std::size_t bytes = 0;
  for (const KvGroupInfo& group : groups) bytes += geometry.alignment / group.block_tokens * group.block_bytes;
  return bytes;
}

Result<std::unique_ptr<SwapStore>> open_swap_store(const SwapOptions& options, std::span<const KvGroupInfo> groups,
                                                   std::size_t free_memory, const Clock& clock) {
  const std::size_t page_bytes = swap_page_bytes(groups);
  const std::size_t stride = arena_stride(page_bytes);
  const std::size_t pool = kv_pool_bytes(groups);
  const std::size_t wanted = options.bytes > 0 ? options.bytes : (pool + page_bytes - 1) / page_bytes * stride;
  const std::size_t most_pages = std::numeric_limits<std::uint32_t>::max() / 2;
  const auto pages = static_cast<std::uint32_t>(std::min(wanted / stride, most_pages));
  if (pages == 0) {
    return Error::invalid("kv.swap_bytes", "kv.swap_bytes is " + std::to_string(wanted) + ", less than one page of " +
                                               std::to_string(stride) + " bytes");
  }
  const auto each_way = static_cast<std::uint32_t>(
      std::clamp<std::size_t>(options.staging_bytes / 2 / stride, 1, std::max<std::size_t>(1, pages)));
  const std::size_t staging_bytes = std::size_t{each_way} * 2 * stride;
  const std::size_t memory = staging_bytes + (options.path.empty() ? std::size_t{pages} * stride : 0);
  if (memory > free_memory || pool > free_memory - memory) {
    return Error::invalid(options.path.empty() ? "kv.swap_bytes" : "kv.swap_staging_bytes",
                          "the KV pool of " + std::to_string(pool) + " bytes and the swap arena's " +
                              std::to_string(memory) + " bytes of memory are together more than the " +
                              std::to_string(free_memory) + " bytes that are left");
  }
  const std::size_t arena_bytes = std::size_t{pages} * stride;
  auto medium = options.path.empty() ? make_memory_arena(arena_bytes) : make_file_arena(options.path, arena_bytes);
  if (!medium) return medium.error();
  MappedBytes staging(staging_bytes);
  if (staging.data == nullptr) {
    return Error{ErrorCode::kResourceExhausted,
                 "no memory for the swap arena's buffers of " + std::to_string(staging_bytes) + " bytes",
                 "kv.swap_staging_bytes"};
  }
  SwapStoreInfo info{page_bytes, pages, {}, {}, (*medium)->description(), staging_bytes};
  auto store = ArenaStore::start(PageCodec(std::move(*medium), page_bytes, pages),
                                 StagingBuffers(std::move(staging), stride, each_way, pages), std::move(info), clock);
  if (!store) return store.error();
  return std::unique_ptr<SwapStore>(std::move(*store));
}

}  // namespace takt
