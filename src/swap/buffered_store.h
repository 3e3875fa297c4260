// What arenas have in common: pages on their way lie in staging buffers.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "swap/staging.h"
#include "swap/swap_store.h"

namespace takt {

class BufferedStore : public SwapStore {
 public:
  const SwapStoreInfo& info() const override { return info_; }
  std::uint32_t room_out() const override { return buffers_.room_out(); }
  std::uint32_t room_in() const override { return buffers_.room_in(); }
  std::span<std::byte> buffer_for(PageId page) override;
  std::span<const std::byte> fetched(PageId page) const override;
  void let_go(PageId page) noexcept override { buffers_.give_back(page); }

 protected:
  BufferedStore(StagingBuffers buffers, SwapStoreInfo info) : buffers_(std::move(buffers)), info_(std::move(info)) {}

  StagingBuffers& buffers() { return buffers_; }
  // As measured at the start.
  void set_times(Duration out, Duration in);
  // The transfer is over: a page that came back well keeps its buffer, any other one gives it back.
  void hand_in(SwapTransfer done, std::vector<SwapTransfer>& over);

 private:
  StagingBuffers buffers_;  // the caller's thread alone
  SwapStoreInfo info_;
};

}  // namespace takt
