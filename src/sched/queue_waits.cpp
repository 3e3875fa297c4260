#include "sched/queue_waits.h"

#include <algorithm>

namespace takt {

namespace {

// Somebody younger entered while an older one of the same queue stays.
bool overtook(const ServiceLane& lane, const QueueAdmissions::Lane& admitted) {
  if (admitted.count == 0) return false;
  std::uint32_t older = 0;
  for (auto s = lane.arrivals.begin(); s != lane.arrivals.end() && older < admitted.count; ++s, ++older) {
    if (s->order > admitted.youngest) return false;
    if (older + 1 == admitted.count) return s->order != admitted.youngest;
  }
  return false;
}

bool is_about_room(WaitReason reason) {
  return reason == WaitReason::kSeat || reason == WaitReason::kBlocks || reason == WaitReason::kStepTime;
}

}  // namespace

void QueueAdmissions::add(const ScheduledSequence& s) {
  const auto t = index_of(s.facts.tier);
  if (s.state != SequenceState::kUnstarted) {
    ++resuming_[t];
    return;
  }
  Lanes& lanes = unstarted_[t];
  if (lanes.size() <= s.lane) lanes.resize(s.lane + 1);
  Lane& lane = lanes[s.lane];
  ++lane.count;
  lane.youngest = std::max(lane.youngest, s.order);
}

QueueAdmissions::Lane QueueAdmissions::unstarted(Tier tier, std::size_t lane) const {
  const Lanes& lanes = unstarted_[index_of(tier)];
  return lane < lanes.size() ? lanes[lane] : Lane{};
}

void name_waits(SequencePlaces& places, const Entrance& entrance, const QueueAdmissions& admissions,
                const WaitMoment& moment, StepPlan& plan) {
  for (const Tier tier : kTiers) {
    TierQueues& queues = places.of(tier);
    const auto note = [&](QueueWait wait, WaitAccount& account) {
      account.set(wait.requests == 0 ? WaitReason::kNone : wait.reason, moment.now);
      if (wait.requests > 0) plan.waits.push_back(wait);
    };
    const auto size = [](const auto& list) { return static_cast<std::uint32_t>(list.size()); };
    note(
        {tier, QueueKind::kResuming, entrance.resuming_reason(tier), size(queues.resuming) - admissions.resuming(tier)},
        queues.resuming_waits);
    std::uint32_t open = 0;
    for (ServiceLane& lane : queues.starting.lanes()) {
      const QueueAdmissions::Lane admitted = admissions.unstarted(tier, lane.index);
      WaitReason reason = entrance.unstarted_reason(tier, lane.index);
      if (is_about_room(reason) && overtook(lane, admitted)) reason = WaitReason::kFairTurn;
      open += size(lane.arrivals);
      note({tier, QueueKind::kUnstarted, reason, size(lane.arrivals) - admitted.count, lane.service_class}, lane.waits);
    }
    note({tier, QueueKind::kUnstarted, moment.batch_is_closed ? WaitReason::kBatchEnd : WaitReason::kWindow,
          size(queues.unstarted) - open},
         queues.held_waits);
    note({tier, QueueKind::kSiblings, WaitReason::kSibling, size(queues.siblings)}, queues.sibling_waits);
  }
}

}  // namespace takt
