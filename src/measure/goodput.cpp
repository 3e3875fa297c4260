#include "measure/goodput.h"

namespace takt::measure {

bool met_all_targets(const RequestRecord& record) {
  if (record.outcome != Outcome::kComplete) return false;
  const auto ttft = time_to_first_token(record.times);
  const auto whole = end_to_end(record.times);
  if (!ttft || !whole) return false;
  const Targets& targets = record.targets;
  if (targets.ttft && *ttft > *targets.ttft) return false;
  if (targets.itl && record.times.worst_gap > *targets.itl) return false;
  if (targets.end_to_end && *whole > *targets.end_to_end) return false;
  const auto tpot = time_per_output_token(record.times);
  return !(targets.tpot && tpot && *tpot > *targets.tpot);
}

std::optional<double> Goodput::attainment() const {
  if (offered == 0) return std::nullopt;
  return static_cast<double>(met) / static_cast<double>(offered);
}

double Goodput::requests_per_second(Duration window) const {
  return static_cast<double>(met) / to_seconds(window);
}

double Goodput::tokens_per_second(Duration window) const {
  return static_cast<double>(met_tokens) / to_seconds(window);
}

void count(Goodput& goodput, const RequestRecord& record) {
  if (record.outcome == Outcome::kCancelled) {
    ++goodput.cancelled;
    return;
  }
  ++goodput.offered;
  if (!met_all_targets(record)) return;
  ++goodput.met;
  goodput.met_tokens += record.times.tokens;
}

Goodput goodput(std::span<const RequestRecord> records) {
  Goodput result;
  for (const auto& record : records) count(result, record);
  return result;
}

}  // namespace takt::measure
