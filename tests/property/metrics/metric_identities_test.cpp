// The identities of the metrics hold at every scrape, whatever the engine does (F16).
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>
#include <vector>

#include "metrics/server_metrics.h"
#include "unit/metrics/event_script.h"

namespace takt::metrics {
namespace {

// A random engine: requests move through their lives in any order the events allow.
class RandomEngine {
 public:
  Event next() {
    now_ += *rc::gen::inRange(0, 50);
    const int dice = *rc::gen::inRange(0, 10);
    if (live_.empty() || dice < 2) return accept();
    auto& [id, request] = *std::next(live_.begin(), *rc::gen::inRange<std::size_t>(0, live_.size()));
    if (dice < 3) return close(id);
    if (!request.admitted) {
      request.admitted = true;
      return admitted(now_, id, 4);
    }
    if (dice < 4) return event(now_, Preempted{RequestId(id), 0, 16});
    const auto choice = *rc::gen::inRange<std::uint32_t>(0, request.choices);
    if (dice < 5)
      return choice_finished(now_, id, *rc::gen::element(FinishReason::kStop, FinishReason::kFailed), choice);
    with_first_token_.insert(id);
    return token(now_, id, choice);
  }

  std::uint64_t accepted_count() const { return last_id_; }
  std::uint64_t first_tokens() const { return with_first_token_.size(); }

 private:
  struct Request {
    bool admitted = false;
    std::uint32_t choices = 1;
  };

  Event accept() {
    const auto tier = *rc::gen::element(Tier::kRealtime, Tier::kBatch);
    const auto choices = *rc::gen::inRange<std::uint32_t>(1, 4);
    live_[++last_id_] = {false, choices};
    return accepted(now_, last_id_, 10, labels(tier == Tier::kBatch ? "index" : "chat", tier), choices);
  }

  Event close(std::uint64_t id) {
    const auto reason = *rc::gen::element(FinishReason::kStop, FinishReason::kLength, FinishReason::kCancelled,
                                          FinishReason::kExpired, FinishReason::kFailed);
    const auto phase = *rc::gen::element(RequestPhase::kQueued, RequestPhase::kPrefill, RequestPhase::kDecode);
    live_.erase(id);
    return closed(now_, id, reason, phase);
  }

  int now_ = 0;
  std::uint64_t last_id_ = 0;
  std::map<std::uint64_t, Request> live_;
  std::set<std::uint64_t> with_first_token_;
};

void check_identities(const Counts& counts, std::uint64_t started, std::uint64_t first_tokens) {
  ClassCounts sum;
  std::uint64_t first_token_samples = 0;
  std::uint64_t cancelled_by_phase = 0;
  std::uint64_t refused_by_reason = 0;
  for (const auto& one : counts.classes) {
    RC_ASSERT(one.started == one.finished + one.failed + one.cancelled + one.refused + one.running + one.waiting);
    RC_ASSERT(one.first_token.count() == one.first_tokens);
    RC_ASSERT(one.goodput.offered + one.goodput.cancelled == one.finished + one.failed + one.cancelled + one.refused);
    sum.started += one.started;
    sum.cancelled += one.cancelled;
    sum.refused += one.refused;
    first_token_samples += one.first_token.count();
  }
  for (const auto count : counts.cancelled_by_phase) cancelled_by_phase += count;
  for (const auto& [reason, count] : counts.refused_by_reason) refused_by_reason += count;
  RC_ASSERT(sum.started == started);
  std::uint64_t of_tenants = 0;
  for (const auto& tenant : counts.tenants) of_tenants += tenant.requests;
  RC_ASSERT(of_tenants == started);
  RC_ASSERT(first_token_samples == first_tokens);
  RC_ASSERT(sum.cancelled == cancelled_by_phase);
  RC_ASSERT(sum.refused == refused_by_reason);
}

RC_GTEST_PROP(MetricIdentities, HoldAtEveryScrapeOfRandomEventSequences, ()) {
  ManualClock clock;
  ServerMetrics metrics({"model"}, {{"1", "1", "scalar"}}, clock);
  RandomEngine engine;
  std::uint64_t refused = 0;
  const int batches = *rc::gen::inRange(1, 40);
  for (int batch = 0; batch < batches; ++batch) {
    std::vector<Event> events;
    const int size = *rc::gen::inRange(0, 8);
    for (int i = 0; i < size; ++i) events.push_back(engine.next());
    metrics.publish(events);
    if (*rc::gen::inRange(0, 4) == 0) {
      metrics.count_refusal(labels("chat"), ErrorCode::kUnavailable);
      ++refused;
    }
    check_identities(metrics.counts(), engine.accepted_count() + refused, engine.first_tokens());
  }
}

}  // namespace
}  // namespace takt::metrics
