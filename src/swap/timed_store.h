// A swap arena whose transfers take time on a clock of the caller's: for runs in virtual time. One transfer after the
// other.
#pragma once

#include <cstdint>
#include <deque>

#include "swap/buffered_store.h"
#include "swap/page_codec.h"

namespace takt {

struct TimedStoreScript {
  std::uint32_t pages = 64;
  std::uint32_t staging_pages = 16;  // each way
  Duration out_time{0};              // of a page
  Duration in_time{0};
  // Of the transfers of a direction, every so many-th fails; of pages that come back, every so many-th is changed. 0:
  // none.
  std::uint32_t fail_out_every = 0;
  std::uint32_t fail_in_every = 0;
  std::uint32_t change_in_every = 0;
};

class TimedStore final : public BufferedStore {
 public:
  // `clock` outlives the store. Errors: kResourceExhausted when there is no memory for it.
  static Result<std::unique_ptr<TimedStore>> create(const TimedStoreScript& script, std::size_t page_bytes,
                                                    const Clock& clock);

  void send(PageId page) override { begin(page, true); }
  bool fetch(PageId page) override;
  void collect(std::vector<SwapTransfer>& over) override;

 private:
  struct UnderWay {
    PageId page;
    bool out = false;
    TimePoint ends;
  };

  TimedStore(const TimedStoreScript& script, PageCodec pages, StagingBuffers buffers, SwapStoreInfo info,
             const Clock& clock);
  void begin(PageId page, bool out);
  Status carry_out(const UnderWay& transfer);

  const TimedStoreScript script_;
  PageCodec pages_;
  const Clock& clock_;
  std::deque<UnderWay> under_way_;
  TimePoint free_at_{};
  std::uint64_t sent_ = 0;
  std::uint64_t read_ = 0;
};

}  // namespace takt
