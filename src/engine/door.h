// Counts what was accepted, so that submit() can refuse at once and exactly, from any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "base/result.h"
#include "core/request.h"
#include "engine/options.h"

namespace takt {

struct DoorLimits {
  std::uint32_t seats = 0;
  QueueLimits realtime;
  QueueLimits batch;  // both with max_waiting_tokens set
};

// Submitting threads add under a lock of their own; the engine thread only subtracts, by atomics, and waits for nobody.
// So a bound is never exceeded, and a request is refused only when its bound is really reached.
class Door {
 public:
  explicit Door(const DoorLimits& limits) : limits_(limits) {}

  // What an accepted request holds until it is over.
  class Ticket {
   public:
    Ticket() = default;

   private:
    friend class Door;
    Tier tier_ = Tier::kRealtime;
    std::uint64_t waiting_tokens_ = 0;
    std::uint32_t sequences_ = 0;
    std::shared_ptr<std::atomic<std::uint64_t>> tenant_;
    std::shared_ptr<std::atomic<std::uint64_t>> user_;
  };

  // Would a request of this tier and size be accepted now?
  Status check(Tier tier, std::uint64_t prompt_tokens, std::uint32_t choices) const;
  // Errors: kUnavailable when the tier's queue is full, kResourceExhausted when the tenant's or user's own bound is
  // reached.
  Result<Ticket> enter(const RequestLabels& labels, std::uint64_t prompt_tokens, std::uint32_t choices);

  // The request has its blocks: its prompt no longer waits. Once; later calls do nothing.
  void admitted(Ticket& ticket) noexcept;
  // So many of its choices are over.
  void leave(Ticket& ticket, std::uint32_t choices) noexcept;

  std::uint64_t sequences() const;       // accepted and not over
  std::uint64_t waiting_tokens() const;  // accepted and not admitted

 private:
  using Count = std::atomic<std::uint64_t>;
  struct TierCount {
    Count sequences{0};
    Count waiting_tokens{0};
  };
  std::shared_ptr<Count> account(const std::string& name);
  const QueueLimits& limits(Tier tier) const { return tier == Tier::kRealtime ? limits_.realtime : limits_.batch; }

  const DoorLimits limits_;
  std::mutex entering_;
  std::unordered_map<std::string, std::shared_ptr<Count>> accounts_;  // of tenants and users; empty ones are swept
  std::size_t sweep_at_ = 1024;
  std::array<TierCount, 2> tiers_;
};

}  // namespace takt
