// Counts what was accepted, so that submit() can refuse at once and exactly, from any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/result.h"
#include "core/request.h"
#include "core/service_class.h"
#include "core/submitter.h"
#include "engine/options.h"

namespace takt {

struct DoorLimits {
  std::uint32_t seats = 0;
  QueueLimits realtime;
  QueueLimits batch;  // both with max_waiting_tokens set
  ClassTable classes;
};

// Submitting threads add under a lock of their own; the engine thread only subtracts, by atomics, and waits for nobody.
// So a bound is never exceeded, and a request is refused only when its bound is really reached.
class Door {
 public:
  explicit Door(DoorLimits limits) : limits_(std::move(limits)) {}

  // Other limits from now on. What is inside stays, also above them.
  void change(DoorLimits limits);

  // What an accepted request holds until it is over.
  class Ticket {
   public:
    Ticket() = default;

   private:
    friend class Door;
    Tier tier_ = Tier::kRealtime;
    ClassIndex class_ = kNoClass;
    std::uint64_t waiting_tokens_ = 0;
    std::uint32_t waiting_sequences_ = 0;
    std::uint32_t sequences_ = 0;
    std::shared_ptr<std::atomic<std::uint64_t>> tenant_;
    std::shared_ptr<std::atomic<std::uint64_t>> user_;
  };

  // Would a request of this tier, class and size be accepted now?
  Status check(const Submitter::Place& place, std::uint64_t prompt_tokens, std::uint32_t choices) const;
  // Choices that a tier's requests may have, running and waiting together.
  std::uint64_t most_sequences(Tier tier) const;
  // Share of the KV blocks that the class may have.
  double block_ceiling(ClassIndex service_class) const;
  // Errors: kUnavailable when the tier's or the class's queue is full, kResourceExhausted when the tenant's or user's
  // own bound is reached.
  Result<Ticket> enter(const RequestLabels& labels, ClassIndex service_class, std::uint64_t prompt_tokens,
                       std::uint32_t choices);

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
  struct ClassCount {
    Count waiting_sequences{0};
    Count waiting_tokens{0};
  };
  Status check_locked(const Submitter::Place& place, std::uint64_t prompt_tokens, std::uint32_t choices) const;
  std::shared_ptr<Count> account(const std::string& name);
  const QueueLimits& limits(Tier tier) const { return tier == Tier::kRealtime ? limits_.realtime : limits_.batch; }

  mutable std::mutex entering_;  // between submitting threads; the engine thread never takes it
  DoorLimits limits_;
  std::unordered_map<std::string, std::shared_ptr<Count>> accounts_;  // of tenants and users; empty ones are swept
  std::size_t sweep_at_ = 1024;
  std::array<TierCount, 2> tiers_;
  std::array<ClassCount, kMostClasses> classes_;
};

}  // namespace takt
