#include "swap/arena_store.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/thread_name.h"

namespace takt {

namespace {

std::size_t all_buffers(const StagingBuffers& buffers) {
  return std::size_t{buffers.room_out()} + buffers.room_in();
}

}  // namespace

ArenaStore::ArenaStore(PageCodec pages, StagingBuffers buffers, SwapStoreInfo info, const Clock& clock)
    : pages_(std::move(pages)),
      buffers_(std::move(buffers)),
      info_(std::move(info)),
      clock_(clock),
      orders_(all_buffers(buffers_)),
      over_(all_buffers(buffers_)) {}

Result<std::unique_ptr<ArenaStore>> ArenaStore::start(PageCodec pages, StagingBuffers buffers, SwapStoreInfo info,
                                                      const Clock& clock) {
  std::unique_ptr<ArenaStore> store(new ArenaStore(std::move(pages), std::move(buffers), std::move(info), clock));
  if (const Status measured = store->measure(); !measured) return measured.error();
  store->thread_ = std::thread([raw = store.get()] {
    name_this_thread("takt-swap");
    raw->run();
  });
  return store;
}

ArenaStore::~ArenaStore() {
  stopping_.store(true);
  orders_.close();
  if (thread_.joinable()) thread_.join();
}

// Several pages, and the slower half of them does not count: the first one finds everything cold.
Status ArenaStore::measure() {
  constexpr std::uint32_t kProbes = 8;
  const std::uint32_t probes = std::min(kProbes, info_.pages);
  std::vector<Duration> out;
  std::vector<Duration> in;
  for (const bool writes : {true, false}) {
    for (std::uint32_t i = 0; i < probes; ++i) {
      const SwapTransfer done = carry_out({PageId(i), writes, buffers_.take(PageId(i), writes)});
      buffers_.give_back(PageId(i));
      if (!done.status) return done.status;
      (writes ? out : in).push_back(done.took);
    }
  }
  for (auto* times : {&out, &in}) std::sort(times->begin(), times->end());
  info_.out_time = out[out.size() / 2];
  info_.in_time = in[in.size() / 2];
  return {};
}

SwapTransfer ArenaStore::carry_out(const Order& order) {
  const TimePoint start = clock_.now();
  SwapTransfer done{order.page, order.out, {}, {}};
  done.status = order.out ? pages_.write(order.page, order.bytes) : pages_.read(order.page, order.bytes);
  done.took = clock_.now() - start;
  return done;
}

void ArenaStore::run() {
  while (std::optional<Order> order = orders_.pop()) {
    if (stopping_.load()) return;
    over_.try_push(carry_out(*order));
  }
}

std::span<std::byte> ArenaStore::buffer_for(PageId page) {
  const std::span<std::byte> buffer = buffers_.take(page, true);
  return buffer.empty() ? buffer : buffer.first(info_.page_bytes);
}

void ArenaStore::send(PageId page) {
  orders_.try_push({page, true, buffers_.of(page)});
}

bool ArenaStore::fetch(PageId page) {
  const std::span<std::byte> buffer = buffers_.take(page, false);
  if (buffer.empty()) return false;
  orders_.try_push({page, false, buffer});
  return true;
}

std::span<const std::byte> ArenaStore::fetched(PageId page) const {
  if (!buffers_.is_fetched(page)) return {};
  return buffers_.of(page).first(info_.page_bytes);
}

void ArenaStore::collect(std::vector<SwapTransfer>& over) {
  for (SwapTransfer& done : over_.drain()) {
    if (!done.out && done.status) {
      buffers_.mark_fetched(done.page);
    } else {
      buffers_.give_back(done.page);
    }
    over.push_back(std::move(done));
  }
}

}  // namespace takt
