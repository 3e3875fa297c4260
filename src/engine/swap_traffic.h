// The engine's side of the swap arena: copies blocks of victims out and those of returning sequences back, reads ahead,
// and keeps the ledger. Without an arena it does nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "core/capacity_view.h"
#include "engine/status.h"
#include "exec/executor.h"
#include "kv/kv_cache.h"
#include "kv/swap_ledger.h"
#include "swap/swap_store.h"

namespace takt {

class SwapTraffic {
 public:
  // `store`: may be null. `executor` and `kv` outlive the traffic.
  SwapTraffic(std::unique_ptr<SwapStore> store, Executor& executor, const KvCache& kv, const Clock& clock);

  // Takes note of transfers that are over. Gives the sequences whose pages are lost: a write or a read failed, or what
  // was read is not what was written, or nothing came for too long. They have no page left.
  std::span<const SequenceId> follow(TimePoint now);
  void fill(SwapView& view) const;

  // Copies the blocks behind `keep` out; the tables still hold them. False: the sequence has no page left.
  bool copy_out(SequenceId sequence, std::uint32_t keep, std::uint32_t computed);
  // Copies pages back into its tables, from `computed` on until `until`. Gives how far it came; less than `until`: the
  // sequence has no page left.
  std::uint32_t copy_back(SequenceId sequence, std::uint32_t computed, std::uint32_t until);
  // Reads these sequences' pages ahead, as far as there are buffers, the first one first; a buffer of one that is not
  // named is taken for one that is.
  void fetch(std::span<const SequenceId> sequences, TimePoint now);
  // The sequence is gone, or is computed again.
  void release(SequenceId sequence) noexcept;

  // Time that copying took since the last call.
  Duration take_copying_time() noexcept;
  SwapStatus status() const;
  // Transfers are under way whose end nobody else may come to see.
  bool is_busy() const { return under_way_ > 0; }
  // The ledger; empty without an arena.
  SwapSnapshot snapshot() const;

 private:
  struct Part {  // one group's part of a page
    GroupId group;
    std::uint32_t block_tokens = 0;
    std::size_t block_bytes = 0;
    std::size_t offset = 0;
  };
  // A sequence that is being fetched.
  struct Fetch {
    SequenceId sequence;
    TimePoint last_arrival;
  };

  template <typename CopyBlock>
  Status for_each_block(SequenceId sequence, std::uint32_t position, std::uint32_t end, CopyBlock copy_block);
  Status fill_page(SequenceId sequence, PageId page, std::uint32_t position, std::uint32_t end);
  Status empty_page(SequenceId sequence, PageId page, std::uint32_t position, std::uint32_t end);
  bool make_room(std::size_t for_place);
  void lose(SequenceId sequence, const Error& why);
  void count(const SwapTransfer& transfer);
  std::uint32_t arrived_pages(SequenceId sequence) const;
  bool has_buffers(SequenceId sequence) const;

  std::unique_ptr<SwapStore> store_;
  Executor& executor_;
  const KvCache& kv_;
  const Clock& clock_;
  const std::uint32_t page_tokens_;
  std::optional<SwapLedger> ledger_;
  std::vector<Part> parts_;
  std::vector<Fetch> fetches_;
  std::vector<SwapTransfer> over_;
  std::vector<SequenceId> lost_;
  SwapStatus status_;
  std::uint32_t under_way_ = 0;
  double out_seconds_ = 0.0;
  double in_seconds_ = 0.0;
  Duration copying_{0};
};

}  // namespace takt
