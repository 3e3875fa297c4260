#include "sched/limit_book.h"

#include <algorithm>
#include <cmath>

namespace takt {

namespace {

constexpr double kMostOfPool = 0.5;  // that the batch tier keeps for a minimum share of time

GroupCounts share_of(const GroupCounts& total, double share) {
  GroupCounts part;
  for (std::size_t g = 0; g < kMaxKvGroups; ++g) {
    part.blocks[g] = static_cast<std::uint32_t>(std::floor(share * total.blocks[g]));
  }
  return part;
}

GroupCounts larger(GroupCounts a, const GroupCounts& b) {
  for (std::size_t g = 0; g < kMaxKvGroups; ++g) a.blocks[g] = std::max(a.blocks[g], b.blocks[g]);
  return a;
}

// Of its blocks, those that are another one's of its class already.
GroupCounts counted_before(const CapacityView& view, SequenceId sequence) {
  const auto shared = std::find_if(view.shared.begin(), view.shared.end(),
                                   [&](const SharedBlocks& s) { return s.sequence == sequence; });
  return shared == view.shared.end() ? GroupCounts{} : shared->blocks;
}

bool has_batch_work(const SequencePlaces& places, std::size_t lane) {
  const TierQueues& batch = places.of(Tier::kBatch);
  const auto& lanes = batch.starting.lanes();
  if (lane < lanes.size() && !lanes[lane].arrivals.empty()) return true;
  const auto is_of_class = [lane](const ScheduledSequence& s) {
    return s.lane == lane && s.facts.tier == Tier::kBatch;
  };
  return std::any_of(places.running.begin(), places.running.end(), is_of_class) ||
         std::any_of(batch.resuming.begin(), batch.resuming.end(), is_of_class);
}

}  // namespace

double batch_share(const SchedulerOptions& options, const SequencePlaces& places) {
  double share = options.batch_min_share;
  for (std::size_t i = 0; i < options.classes.size(); ++i) {
    const ClassLimits& limits = options.classes[i].limits;
    if (limits.tier != Tier::kBatch || limits.min_share <= share) continue;
    if (has_batch_work(places, lane_of(ClassIndex(static_cast<std::uint32_t>(i))))) share = limits.min_share;
  }
  return share;
}

double batch_ceiling(const SchedulerOptions& options, const SequencePlaces& places) {
  const bool any = std::any_of(options.classes.begin(), options.classes.end(), [](const EngineClass& c) {
    return c.limits.tier == Tier::kBatch && c.limits.ceiling.step_time < 1.0;
  });
  if (!any) return 1.0;
  const std::size_t lanes = std::max(places.lanes(), options.classes.size() + 1);
  double ceiling = 0.0;
  for (std::size_t lane = 0; lane < lanes && ceiling < 1.0; ++lane) {
    const ClassIndex index = lane == 0 ? kNoClass : ClassIndex(static_cast<std::uint32_t>(lane - 1));
    if (has_batch_work(places, lane)) ceiling += limits_of(options.classes, index, Tier::kBatch).ceiling.step_time;
  }
  return std::min(1.0, ceiling);
}

std::uint32_t LimitBook::Account::missing_seats() const {
  return std::min(reserved_seats - std::min(reserved_seats, seats), waiting);
}

std::uint32_t LimitBook::Account::seats_below_ceiling() const {
  return most_seats - std::min(most_seats, seats);
}

void LimitBook::open(const SchedulerOptions& options, const CapacityView& view, const SequencePlaces& places,
                     const OwedParts& owed_to_batch) {
  // Whoever runs or resumes came through a lane.
  accounts_.assign(std::max<std::size_t>(places.lanes(), options.classes.size() + 1), {});
  seats_ = {};
  blocks_ = {};
  set_limits(options, view);
  count(places, view);
  floor_ = {};
  if (owed_to_batch.seats == 0) return;
  const double share = batch_share(options, places);
  const auto own = std::max(1U, static_cast<std::uint32_t>(share * options.max_sequences));
  // No more than it can take.
  const std::uint64_t most =
      std::min(std::max(1U, options.max_sequences - 1), seats_[index_of(Tier::kBatch)] + batch_waiting_);
  floor_.seats = static_cast<std::uint32_t>(std::min(std::uint64_t{own} * owed_to_batch.seats, most));
  floor_.blocks = share_of(view.total, std::min(share * owed_to_batch.blocks, kMostOfPool));
}

void LimitBook::set_limits(const SchedulerOptions& options, const CapacityView& view) {
  for (std::size_t lane = 0; lane < accounts_.size(); ++lane) {
    const ClassIndex index = lane == 0 ? kNoClass : ClassIndex(static_cast<std::uint32_t>(lane - 1));
    const ClassLimits limits = limits_of(options.classes, index, Tier::kRealtime);
    Account& account = accounts_[lane];
    account.tier = limits.tier;
    account.reserved_seats = limits.reserved.seats;
    account.most_seats = limits.ceiling.seats;
    account.reserved_blocks = share_of(view.total, limits.reserved.blocks);
    account.blocks_are_limited = limits.ceiling.blocks < 1.0;
    account.most_blocks = share_of(view.total, limits.ceiling.blocks);
  }
}

void LimitBook::count(const SequencePlaces& places, const CapacityView& view) {
  const auto holds = [&](const ScheduledSequence& s) {
    if (s.cover == 0) return;
    const GroupCounts blocks = view.geometry.blocks_for(s.cover) - counted_before(view, s.facts.id);
    accounts_[s.lane].blocks += blocks;
    blocks_[index_of(s.facts.tier)] += blocks;
  };
  for (const ScheduledSequence& s : places.running) {
    ++accounts_[s.lane].seats;
    ++seats_[index_of(s.facts.tier)];
    holds(s);
  }
  for (const Tier tier : kTiers) {
    const TierQueues& queues = places.of(tier);
    const bool is_batch = tier == Tier::kBatch;
    for (const ScheduledSequence& s : queues.resuming) {
      holds(s);
      Account& account = accounts_[s.lane];
      ++account.waiting;
      account.batch_waiting += is_batch ? 1 : 0;
      if (account.first_waiting == nullptr) account.first_waiting = &s;
    }
    for (const ServiceLane& lane : queues.starting.lanes()) {
      if (lane.arrivals.empty()) continue;
      const auto waiting = static_cast<std::uint32_t>(lane.arrivals.size());
      Account& account = accounts_[lane.index];
      account.waiting += waiting;
      account.batch_waiting += is_batch ? waiting : 0;
      if (account.first_waiting == nullptr) account.first_waiting = &*lane.flows.begin()->members.begin();
    }
  }
  batch_waiting_ = 0;
  for (const Account& account : accounts_)
    batch_waiting_ += std::min(account.batch_waiting, account.seats_below_ceiling());
}

bool LimitBook::seat_is_above_ceiling(std::size_t lane) const {
  return accounts_[lane].seats >= accounts_[lane].most_seats;
}

bool LimitBook::blocks_are_above_ceiling(std::size_t lane, const GroupCounts& more) const {
  const Account& account = accounts_[lane];
  // One sequence of a class can always run, or it would wait for ever.
  if (!account.blocks_are_limited || account.seats == 0) return false;
  return !(account.blocks + more).within(account.most_blocks);
}

bool LimitBook::is_entitled_to_seat(std::size_t lane) const {
  return accounts_[lane].seats < accounts_[lane].reserved_seats;
}

bool LimitBook::is_entitled_to_blocks(std::size_t lane, Tier tier, const GroupCounts& need) const {
  const Account& account = accounts_[lane];
  if (!need.none() && (account.blocks + need).within(account.reserved_blocks)) return true;
  return tier == Tier::kBatch && (blocks_[index_of(tier)] + need).within(floor_.blocks);
}

bool LimitBook::may_claim_blocks(std::size_t lane, const GroupCounts& more) const {
  const Account& account = accounts_[lane];
  return account.waiting > 0 && !account.reserved_blocks.none() &&
         (account.blocks + more).within(account.reserved_blocks);
}

std::uint32_t LimitBook::seats_of_others(std::size_t lane, Tier tier) const {
  std::uint32_t seats = 0;
  for (std::size_t i = 0; i < accounts_.size(); ++i) {
    if (i != lane) seats += accounts_[i].missing_seats();
  }
  if (tier == Tier::kBatch || batch_waiting_ == 0) return seats;
  const std::uint32_t batch = seats_[index_of(Tier::kBatch)];
  return std::max(seats, floor_.seats - std::min(floor_.seats, batch));
}

GroupCounts LimitBook::blocks_of_others(std::size_t lane, Tier tier, bool all_lent) const {
  GroupCounts blocks;
  for (std::size_t i = 0; i < accounts_.size(); ++i) {
    const Account& account = accounts_[i];
    const bool is_lent = account.tier < tier || ((all_lent || account.tier > tier) && account.waiting == 0);
    if (i != lane && !is_lent) blocks += account.reserved_blocks - account.blocks;
  }
  if (tier == Tier::kBatch || batch_waiting_ == 0) return blocks;
  return larger(blocks, floor_.blocks - blocks_[index_of(Tier::kBatch)]);
}

bool LimitBook::may_lose_seat(std::size_t lane, Tier tier) const {
  if (accounts_[lane].reserved_seats > 0 && accounts_[lane].seats <= accounts_[lane].reserved_seats) return false;
  return tier != Tier::kBatch || seats_[index_of(tier)] > floor_.seats;
}

bool LimitBook::blocks_are_reserved(std::size_t lane) const {
  const Account& account = accounts_[lane];
  return !account.reserved_blocks.none() && account.blocks.within(account.reserved_blocks);
}

GroupCounts LimitBook::reserves_in_use(std::size_t lane, Tier tier) const {
  GroupCounts blocks;
  for (std::size_t i = 0; i < accounts_.size(); ++i) {
    const Account& account = accounts_[i];
    if (i == lane || account.reserved_blocks.none()) continue;
    const GroupCounts unused = account.reserved_blocks - account.blocks;
    const bool is_asked_for = account.waiting > 0 && account.tier <= tier;
    blocks += is_asked_for ? account.reserved_blocks : account.reserved_blocks - unused;
  }
  return blocks;
}

bool LimitBook::may_lose_blocks(std::size_t lane, Tier tier) const {
  if (blocks_are_reserved(lane)) return false;
  return tier != Tier::kBatch || floor_.blocks.none() || !blocks_[index_of(tier)].within(floor_.blocks);
}

LimitBook::Claim LimitBook::claim_of(std::size_t lane, Tier tier) const {
  const Account& account = accounts_[lane];
  const std::uint32_t seats = account.missing_seats();
  if (seats == 0 || account.first_waiting->facts.tier != tier) return {};
  return {account.first_waiting, seats};
}

void LimitBook::took_seat(std::size_t lane, Tier tier, const GroupCounts& blocks) {
  Account& account = accounts_[lane];
  ++account.seats;
  ++seats_[index_of(tier)];
  account.blocks += blocks;
  blocks_[index_of(tier)] += blocks;
  if (account.waiting > 0) --account.waiting;
}

void LimitBook::lost_seat(std::size_t lane, Tier tier) {
  --accounts_[lane].seats;
  --seats_[index_of(tier)];
}

void LimitBook::lost_blocks(std::size_t lane, Tier tier, const GroupCounts& blocks) {
  accounts_[lane].blocks -= blocks;
  blocks_[index_of(tier)] -= blocks;
}

}  // namespace takt
