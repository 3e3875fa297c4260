// Seats and blocks by service class while a plan is made: who has how much, what is set aside for whom, and who may
// have to give something back. See ClassLimits (core/service_class.h) for what the limits mean.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/capacity_view.h"
#include "sched/minimum_share.h"
#include "sched/options.h"
#include "sched/places.h"

namespace takt {

// The batch tier's minimum share of step time: the largest of the tier's own and of its classes that have work.
// Without the ceilings of these.
double batch_share(const SchedulerOptions& options, const SequencePlaces& places);
// The part of step time that the ceilings of the batch tier's classes that have work leave them together; at most 1.
double batch_ceiling(const SchedulerOptions& options, const SequencePlaces& places);

class LimitBook {
 public:
  // `owed_to_batch`: what the batch tier keeps or gets, because it has had less step time than its minimum share.
  void open(const SchedulerOptions& options, const CapacityView& view, const SequencePlaces& places,
            const OwedParts& owed_to_batch);

  // Would one more seat, or `more` blocks, be above the class's ceiling?
  bool seat_is_above_ceiling(std::size_t lane) const;
  bool blocks_are_above_ceiling(std::size_t lane, const GroupCounts& more) const;

  // It asks for what is reserved for it.
  bool is_entitled_to_seat(std::size_t lane) const;
  bool is_entitled_to_blocks(std::size_t lane, Tier tier, const GroupCounts& need) const;
  // A waiting one of the class may ask others to give back so many blocks that they borrowed.
  bool may_claim_blocks(std::size_t lane, const GroupCounts& more) const;
  std::uint32_t seats_of(Tier tier) const { return seats_[index_of(tier)]; }
  // What must stay free when a sequence of this class enters, because it is others'. Seats: of classes that wait.
  // Blocks: also of classes of its own tier that do not wait, so that these rarely have to take any back.
  std::uint32_t seats_of_others(std::size_t lane, Tier tier) const;
  // Reserves of its own tier: `all_lent` leaves them out.
  GroupCounts blocks_of_others(std::size_t lane, Tier tier, bool all_lent = false) const;

  // Whether a sequence of this class may be put out of its seat, or lose blocks, for somebody of a higher tier or for
  // one who is entitled: it is not what is reserved for its class or tier.
  bool may_lose_seat(std::size_t lane, Tier tier) const;
  bool may_lose_blocks(std::size_t lane, Tier tier) const;
  // All that the class holds is reserved for it.
  bool blocks_are_reserved(std::size_t lane) const;
  // What of the pool nobody else can have as long as those who use their reserves go on and those who ask for theirs
  // wait: whoever needs more than the rest waits for their end, whatever else becomes free.
  GroupCounts reserves_in_use(std::size_t lane, Tier tier) const;

  // Seats that those of a class who wait lack to its reserve, and the first of them.
  struct Claim {
    const ScheduledSequence* waits = nullptr;
    std::uint32_t seats = 0;
  };
  Claim claim_of(std::size_t lane, Tier tier) const;
  std::size_t lanes() const { return accounts_.size(); }

  void took_seat(std::size_t lane, Tier tier, const GroupCounts& blocks);
  void lost_seat(std::size_t lane, Tier tier);
  void lost_blocks(std::size_t lane, Tier tier, const GroupCounts& blocks);

 private:
  struct Account {
    Tier tier = Tier::kRealtime;
    std::uint32_t seats = 0;
    std::uint32_t reserved_seats = 0;
    std::uint32_t most_seats = 0;
    GroupCounts blocks;
    GroupCounts reserved_blocks;
    GroupCounts most_blocks;
    bool blocks_are_limited = false;
    std::uint32_t waiting = 0;
    std::uint32_t batch_waiting = 0;  // of these, of the batch tier
    const ScheduledSequence* first_waiting = nullptr;

    std::uint32_t missing_seats() const;
    std::uint32_t seats_below_ceiling() const;
  };
  struct Floor {  // of the batch tier's minimum share
    std::uint32_t seats = 0;
    GroupCounts blocks;
  };

  void set_limits(const SchedulerOptions& options, const CapacityView& view);
  void count(const SequencePlaces& places, const CapacityView& view);

  std::vector<Account> accounts_;  // by lane
  std::array<std::uint32_t, kTiers.size()> seats_{};
  std::array<GroupCounts, kTiers.size()> blocks_{};
  std::uint32_t batch_waiting_ = 0;  // sequences of the batch tier that its classes' ceilings leave a seat to
  Floor floor_;
};

}  // namespace takt
