#include "sched/cascade_breaker.h"

#include <algorithm>
#include <limits>

namespace takt {

namespace {

constexpr Duration kWindow = std::chrono::minutes(1);
constexpr double kDecrease = 0.5;
constexpr double kBatchFloor = 0.125;  // batch first; below it the realtime tier too
constexpr double kRealtimeFloor = 0.25;

}  // namespace

void CascadeBreaker::set_options(const BreakerOptions& options) {
  options_ = options;
  recent_.assign(options.preemptions_per_minute, TimePoint{});
  recorded_ = 0;
  if (options.preemptions_per_minute == 0) tiers_ = {};
}

double CascadeBreaker::share_at(const TierState& tier, TimePoint now) const {
  if (tier.share >= 1.0) return 1.0;
  return std::min(1.0, tier.share + to_seconds(now - tier.shrunk_at) / to_seconds(options_.recovery));
}

void CascadeBreaker::note_preemption(const Running& running, TimePoint now) noexcept {
  if (recent_.empty()) return;
  TimePoint& oldest = recent_[recorded_ % recent_.size()];
  const bool too_many = recorded_ >= recent_.size() && now - oldest <= kWindow;
  oldest = now;
  ++recorded_;
  if (too_many) trip(running, now);
}

void CascadeBreaker::trip(const Running& running, TimePoint now) noexcept {
  recorded_ = 0;
  ++trips_;
  TierState& batch = tiers_[index_of(Tier::kBatch)];
  const bool batch_first = running[index_of(Tier::kBatch)] > 0 && share_at(batch, now) > kBatchFloor;
  const Tier tier = batch_first ? Tier::kBatch : Tier::kRealtime;
  TierState& state = tiers_[index_of(tier)];
  const double share = share_at(state, now);
  if (share >= 1.0) state.basis = running[index_of(tier)];
  state.share = std::max(share * kDecrease, batch_first ? kBatchFloor : kRealtimeFloor);
  state.shrunk_at = now;
}

std::uint32_t CascadeBreaker::most_running(Tier tier, TimePoint now) const {
  const TierState& state = tiers_[index_of(tier)];
  const double share = share_at(state, now);
  if (share >= 1.0) return std::numeric_limits<std::uint32_t>::max();
  return std::max(1U, static_cast<std::uint32_t>(share * state.basis));
}

AdmissionPressure CascadeBreaker::pressure(TimePoint now) const {
  AdmissionPressure pressure;
  pressure.realtime_share = share_at(tiers_[index_of(Tier::kRealtime)], now);
  pressure.batch_share = share_at(tiers_[index_of(Tier::kBatch)], now);
  const std::size_t kept = std::min(recorded_, recent_.size());
  for (std::size_t i = 0; i < kept; ++i) pressure.preemptions_last_minute += now - recent_[i] <= kWindow ? 1 : 0;
  pressure.trips = trips_;
  return pressure;
}

}  // namespace takt
