// The swap arena with a thread of its own for its transfers.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/bounded_queue.h"
#include "swap/page_codec.h"
#include "swap/staging.h"
#include "swap/swap_store.h"

namespace takt {

class ArenaStore final : public SwapStore {
 public:
  // Measures a few transfers. Errors: the medium's, in the first transfer.
  static Result<std::unique_ptr<ArenaStore>> start(PageCodec pages, StagingBuffers buffers, SwapStoreInfo info,
                                                   const Clock& clock);
  // Waits for the transfer that is under way; what has not begun is dropped.
  ~ArenaStore() override;

  const SwapStoreInfo& info() const override { return info_; }
  std::uint32_t room_out() const override { return buffers_.room_out(); }
  std::uint32_t room_in() const override { return buffers_.room_in(); }
  std::span<std::byte> buffer_for(PageId page) override;
  void send(PageId page) override;
  bool fetch(PageId page) override;
  std::span<const std::byte> fetched(PageId page) const override;
  void let_go(PageId page) noexcept override { buffers_.give_back(page); }
  void collect(std::vector<SwapTransfer>& over) override;

 private:
  struct Order {
    PageId page;
    bool out = false;
    std::span<std::byte> bytes;  // a stride
  };

  ArenaStore(PageCodec pages, StagingBuffers buffers, SwapStoreInfo info, const Clock& clock);
  Status measure();
  SwapTransfer carry_out(const Order& order);
  void run();

  PageCodec pages_;         // the thread's, once it runs
  StagingBuffers buffers_;  // the caller's
  SwapStoreInfo info_;
  const Clock& clock_;
  BoundedQueue<Order> orders_;  // each has a buffer, and there is room for all
  BoundedQueue<SwapTransfer> over_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace takt
