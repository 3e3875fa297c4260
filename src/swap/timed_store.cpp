#include "swap/timed_store.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace takt {

namespace {

bool is_turn(std::uint64_t count, std::uint32_t every) {
  return every > 0 && count % every == 0;
}

}  // namespace

Result<std::unique_ptr<TimedStore>> TimedStore::create(const TimedStoreScript& script, std::size_t page_bytes,
                                                       const Clock& clock) {
  const std::size_t stride = arena_stride(page_bytes);
  auto medium = make_memory_arena(stride * script.pages);
  if (!medium) return medium.error();
  MappedBytes staging(stride * 2 * script.staging_pages);
  if (staging.data == nullptr)
    return Error{ErrorCode::kResourceExhausted, "no memory for the swap arena's buffers", "kv.swap_staging_bytes"};
  SwapStoreInfo info{page_bytes, script.pages, script.out_time, script.in_time, "memory, in virtual time"};
  return std::unique_ptr<TimedStore>(new TimedStore(
      script, PageCodec(std::move(*medium), page_bytes, script.pages),
      StagingBuffers(std::move(staging), stride, script.staging_pages, script.pages), std::move(info), clock));
}

TimedStore::TimedStore(const TimedStoreScript& script, PageCodec pages, StagingBuffers buffers, SwapStoreInfo info,
                       const Clock& clock)
    : BufferedStore(std::move(buffers), std::move(info)), script_(script), pages_(std::move(pages)), clock_(clock) {}

bool TimedStore::fetch(PageId page) {
  if (buffers().take(page, false).empty()) return false;
  begin(page, false);
  return true;
}

void TimedStore::begin(PageId page, bool out) {
  free_at_ = std::max(free_at_, clock_.now()) + (out ? script_.out_time : script_.in_time);
  under_way_.push_back({page, out, free_at_});
}

Status TimedStore::carry_out(const UnderWay& transfer) {
  const std::span<std::byte> bytes = buffers().of(transfer.page);
  if (transfer.out) {
    if (is_turn(++sent_, script_.fail_out_every)) return Error{ErrorCode::kIo, "The script fails this write.", {}};
    return pages_.write(transfer.page, bytes);
  }
  if (is_turn(++read_, script_.fail_in_every)) return Error{ErrorCode::kIo, "The script fails this read.", {}};
  if (is_turn(read_, script_.change_in_every)) {
    // As a disk would: one bit of what it holds, which the checksum must find.
    ArenaMedium& medium = pages_.medium();
    const std::uint64_t offset = std::uint64_t{transfer.page.value} * pages_.stride();
    if (Status read = medium.read(offset, bytes); !read) return read;
    bytes.front() ^= std::byte{1};
    if (Status written = medium.write(offset, bytes); !written) return written;
  }
  return pages_.read(transfer.page, bytes);
}

void TimedStore::collect(std::vector<SwapTransfer>& over) {
  while (!under_way_.empty() && under_way_.front().ends <= clock_.now()) {
    const UnderWay transfer = under_way_.front();
    under_way_.pop_front();
    hand_in({transfer.page, transfer.out, carry_out(transfer), transfer.out ? script_.out_time : script_.in_time},
            over);
  }
}

}  // namespace takt
