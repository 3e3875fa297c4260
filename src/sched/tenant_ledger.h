// What each tenant of a tier has had: the virtual token counter (Sheng et al., "Fairness in Serving Large Language
// Models", OSDI 2024, section 4).
#pragma once

#include <cstdint>
#include <memory_resource>
#include <optional>
#include <unordered_map>

#include "sched/options.h"
#include "sched/sequence.h"

namespace takt {

// Costs are tokens times their weight, divided by the weight of the sequence (its tenant's and its class's).
struct Tenant {
  double served = 0.0;           // for work that was done
  double owed = 0.0;             // for the prompts of admitted sequences as far as they are not computed
  std::uint32_t alive = 0;       // sequences that are not over
  std::uint32_t queued = 0;      // of these, unstarted ones that may start
  ServiceFlow* flows = nullptr;  // where these wait; the first of a chain

  // Who is lowest is next. A prompt counts from its admission on, or a tenant with long prompts would have all of them
  // admitted before the first is paid for.
  double level() const { return served + owed; }
};

class TenantLedger {
 public:
  TenantLedger(const FairWeights& weights, std::pmr::memory_resource* memory) : weights_(weights), tenants_(memory) {}

  void set_weights(const FairWeights& weights) { weights_ = weights; }

  // A sequence of the tenant came; it stays counted until leave().
  Tenant& enter(TenantId id);
  // `sequence` is over: what it still owes is forgiven.
  void leave(ScheduledSequence& sequence) noexcept;

  // A sequence of the tenant may start from now on. One that had none waiting is lifted to `lowest`, the lowest level
  // of those that wait where it waits, or, where nobody does, to what the one who was the last to wait has come to
  // since: what it did not use while it was away is not saved up.
  void queued(Tenant& tenant, std::optional<double> lowest) noexcept;
  void unqueued(Tenant& tenant) noexcept;

  // The sequence was admitted with `cached` tokens of its prompt in memory.
  void admitted(ScheduledSequence& sequence, std::uint32_t cached) noexcept;
  // It went from what it knew and had computed before to `known` and `computed`. To be called before these are
  // changed. Nothing is billed twice.
  void progressed(ScheduledSequence& sequence, std::uint32_t known, std::uint32_t computed) noexcept;

  std::size_t tenants() const { return tenants_.size(); }
  const Tenant* find(TenantId id) const;

 private:
  double owed_by(const ScheduledSequence& sequence) const;
  double last_level() const;
  void forget_idle();

  FairWeights weights_;
  std::pmr::unordered_map<TenantId, Tenant> tenants_;
  const Tenant* last_ = nullptr;  // who was the last to have none waiting
  double last_level_ = 0.0;       // of that one, once it is forgotten
  std::size_t forget_at_ = 64;    // tenants
};

}  // namespace takt
