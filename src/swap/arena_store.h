// The swap arena with a thread of its own for its transfers.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/bounded_queue.h"
#include "swap/buffered_store.h"
#include "swap/page_codec.h"

namespace takt {

class ArenaStore final : public BufferedStore {
 public:
  // Measures a few transfers. Errors: the medium's, in the first transfer.
  static Result<std::unique_ptr<ArenaStore>> start(PageCodec pages, StagingBuffers buffers, SwapStoreInfo info,
                                                   const Clock& clock);
  // Waits for the transfer that is under way; what has not begun is dropped.
  ~ArenaStore() override;

  void send(PageId page) override;
  bool fetch(PageId page) override;
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

  PageCodec pages_;  // the thread's, once it runs
  const Clock& clock_;
  BoundedQueue<Order> orders_;  // each has a buffer, and there is room for all
  BoundedQueue<SwapTransfer> over_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace takt
