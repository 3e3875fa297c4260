#include "swap/buffered_store.h"

namespace takt {

std::span<std::byte> BufferedStore::buffer_for(PageId page) {
  const std::span<std::byte> buffer = buffers_.take(page, true);
  return buffer.empty() ? buffer : buffer.first(info_.page_bytes);
}

std::span<const std::byte> BufferedStore::fetched(PageId page) const {
  if (!buffers_.is_fetched(page)) return {};
  return buffers_.of(page).first(info_.page_bytes);
}

void BufferedStore::set_times(Duration out, Duration in) {
  info_.out_time = out;
  info_.in_time = in;
}

void BufferedStore::hand_in(SwapTransfer done, std::vector<SwapTransfer>& over) {
  if (!done.out && done.status) {
    buffers_.mark_fetched(done.page);
  } else {
    buffers_.give_back(done.page);
  }
  over.push_back(std::move(done));
}

}  // namespace takt
