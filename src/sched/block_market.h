// Blocks while a plan is made: what is available, and what may be taken from whom.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <optional>
#include <vector>

#include "core/capacity_view.h"
#include "core/step.h"
#include "sched/limit_book.h"
#include "sched/options.h"
#include "sched/places.h"

namespace takt {

class BlockMarket {
 public:
  // `book` is told what is taken from whom.
  BlockMarket(const CapacityView& view, const SequencePlaces& places, PreemptionRule rule, LimitBook& book);

  // Takes `need`, dropping tails of running and waiting sequences that rank below `taker` (lower tier, or same tier and
  // newer), lowest first. False, with nothing taken, when that is not enough; what was dropped stays dropped.
  bool take_for_running(const ScheduledSequence& taker, const GroupCounts& need);
  // Takes `need` if it is there.
  bool take_free(const GroupCounts& need);
  // Takes `need` and leaves `spare` free, dropping tails of waiting sequences, and of running ones of lower tiers. When
  // that is not enough, nobody gives up anything, but with `last_resort`: then a waiting sequence gives up its shared
  // blocks too (they come free when the last sharer has). False too when more would leave than limit_copies() allows:
  // what could leave is dropped, and the next plan goes on from there.
  bool take_for_waiting(const ScheduledSequence& taker, const GroupCounts& need, const GroupCounts& spare,
                        bool last_resort);

  // Of computed tokens, so many pages at most are taken in this plan for sequences that wait. Without: any number.
  void limit_copies(std::uint32_t pages) { copies_left_ = pages; }

  // `claimant`'s class asks for `need` of its reserve: tails of borrowers are dropped as far as that is not there,
  // those of lower tiers first, then those of other classes of its tier that hold more than their own reserve. What
  // there is then is kept for the class through the rest of the plan.
  void keep_for(const ScheduledSequence& claimant, const GroupCounts& need);
  bool keeps_for(std::size_t lane) const;
  bool keeps_any() const { return !kept_.empty(); }
  // Takes `need` of what is kept for the class of `taker`. False, with nothing taken, when that is less.
  bool has_kept(const ScheduledSequence& taker, const GroupCounts& need) const;
  bool take_kept(const ScheduledSequence& taker, const GroupCounts& need);

  // Puts the newest running sequence of a lower tier out, for its seat; it keeps its blocks. False when there is none
  // that may lose it.
  bool take_seat(const ScheduledSequence& taker);
  bool may_take_seat(const ScheduledSequence& taker) const { return seat_victim(taker, false) != nullptr; }
  // Whether take_for_waiting() could then find so many blocks.
  bool are_in_reach_with_seat(const ScheduledSequence& taker, const GroupCounts& wanted) const {
    return are_in_reach(taker, wanted, seat_victim(taker, false));
  }
  // The same for one who is entitled to a seat that its own tier has borrowed. Before the step has entries.
  bool take_back_seat(const ScheduledSequence& taker);

  // Puts a running sequence out of this step although nothing of it is dropped: it waits for blocks.
  void stand_back(const ScheduledSequence& sequence);
  // This step runs it: it keeps what it has.
  void pin(const ScheduledSequence& sequence);

  // In the plan already, or out of it.
  bool is_settled(const ScheduledSequence& sequence) const;
  // Running sequences needed more blocks than there were, or higher tiers took from lower ones: nothing of this tier is
  // admitted in this step.
  bool closed_to(Tier tier) const { return closed_from_ && tier >= *closed_from_; }
  void add_drops(std::vector<PlanDrop>& drops) const;
  // Null: it holds no blocks.
  const ScheduledSequence* holder(SequenceId sequence) const;

 private:
  struct Holder {
    const ScheduledSequence* sequence;
    std::uint32_t keep;            // positions its tables reach after the drops so far
    std::uint32_t exclusive_from;  // dropping down to here frees blocks
    bool pinned = false;
    bool dropped = false;
    Tier in_favour_of = Tier::kRealtime;
  };

  struct Kept {
    std::size_t lane;
    GroupCounts blocks;
  };

  static constexpr std::uint32_t kAnyNumber = std::numeric_limits<std::uint32_t>::max();

  bool may_take(const ScheduledSequence& taker, const Holder& holder, bool from_running) const;
  bool has_borrowed_from(const ScheduledSequence& claimant, const Holder& holder) const;
  Holder* newest_borrower(const ScheduledSequence& claimant);
  GroupCounts tail_of(const Holder& holder) const;
  bool are_in_reach(const ScheduledSequence& taker, const GroupCounts& wanted, const Holder* victim) const;
  const Holder* seat_victim(const ScheduledSequence& taker, bool own_tier) const;
  Holder* lowest_holder(const ScheduledSequence& taker, bool from_running, bool with_shared);
  bool put_out(const ScheduledSequence& taker, bool own_tier);
  Holder* victim_of_running(const ScheduledSequence& taker);
  void drop_tail(Holder& holder, const ScheduledSequence& taker, const GroupCounts& wanted,
                 std::uint32_t most_pages = kAnyNumber);
  std::uint32_t computed_pages(const Holder& holder, std::uint32_t keep) const;
  template <typename Is>
  std::size_t place_where(Is is) const;
  std::size_t place_of(const ScheduledSequence& sequence) const;
  std::size_t place_of(SequenceId sequence) const;
  void close_from(Tier tier);

  const CapacityView& view_;
  GroupCounts available_;
  std::pmr::vector<Holder> holders_;
  mutable std::size_t last_place_ = 0;  // that was asked for: the next one is mostly near
  std::pmr::vector<Kept> kept_;         // not in `available_`
  const bool may_preempt_;
  LimitBook& book_;
  std::uint32_t copies_left_ = kAnyNumber;
  std::optional<Tier> closed_from_;  // this tier and those below
};

}  // namespace takt
