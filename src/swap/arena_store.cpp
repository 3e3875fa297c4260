#include "swap/arena_store.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/thread_name.h"
#include "base/thread_priority.h"

namespace takt {

namespace {

std::size_t all_buffers(const StagingBuffers& buffers) {
  return std::size_t{buffers.room_out()} + buffers.room_in();
}

}  // namespace

ArenaStore::ArenaStore(PageCodec pages, StagingBuffers buffers, SwapStoreInfo info, const Clock& clock)
    : BufferedStore(std::move(buffers), std::move(info)),
      pages_(std::move(pages)),
      clock_(clock),
      orders_(all_buffers(this->buffers())),
      over_(all_buffers(this->buffers())) {}

Result<std::unique_ptr<ArenaStore>> ArenaStore::start(PageCodec pages, StagingBuffers buffers, SwapStoreInfo info,
                                                      const Clock& clock) {
  std::unique_ptr<ArenaStore> store(new ArenaStore(std::move(pages), std::move(buffers), std::move(info), clock));
  if (const Status measured = store->measure(); !measured) return measured.error();
  store->thread_ = std::thread([raw = store.get()] {
    name_this_thread("takt-swap");
    give_way_to_other_threads();  // a page may come later, a step may not
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
  const std::uint32_t probes = std::min(kProbes, info().pages);
  std::vector<Duration> out;
  std::vector<Duration> in;
  for (const bool writes : {true, false}) {
    for (std::uint32_t i = 0; i < probes; ++i) {
      const SwapTransfer done = carry_out({PageId(i), writes, buffers().take(PageId(i), writes)});
      buffers().give_back(PageId(i));
      if (!done.status) return done.status;
      (writes ? out : in).push_back(done.took);
    }
  }
  for (auto* times : {&out, &in}) std::sort(times->begin(), times->end());
  set_times(out[out.size() / 2], in[in.size() / 2]);
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

void ArenaStore::send(PageId page) {
  orders_.try_push({page, true, buffers().of(page)});
}

bool ArenaStore::fetch(PageId page) {
  const std::span<std::byte> buffer = buffers().take(page, false);
  if (buffer.empty()) return false;
  orders_.try_push({page, false, buffer});
  return true;
}

void ArenaStore::collect(std::vector<SwapTransfer>& over) {
  for (SwapTransfer& done : over_.drain()) hand_in(std::move(done), over);
}

}  // namespace takt
