#include "measure/saturation.h"

#include <algorithm>
#include <array>
#include <optional>

namespace takt::measure {
namespace {

constexpr std::size_t kParts = 10;
constexpr int kRisingAtFivePercent = 21;  // Mann-Kendall's S for ten values: p = 0.036
constexpr double kGrowth = 1.5;

using Parts = std::array<double, kParts>;

bool rises(const Parts& values) {
  int s = 0;
  for (std::size_t i = 0; i < kParts; ++i) {
    for (std::size_t j = i + 1; j < kParts; ++j) s += (values[j] > values[i]) - (values[j] < values[i]);
  }
  return s >= kRisingAtFivePercent;
}

double growth(const Parts& values) {
  const double first = values[0] + values[1] + values[2];
  const double last = values[kParts - 3] + values[kParts - 2] + values[kParts - 1];
  return first > 0.0 ? last / first : 1.0;
}

// Requests in flight, averaged over each part.
Parts in_flight(std::span<const AnswerSample> samples, TimePoint begin, Duration part) {
  Parts busy{};
  for (const auto& sample : samples) {
    const auto& times = sample.record.times;
    const TimePoint over = times.end.value_or(begin + part * kParts);
    for (std::size_t i = 0; i < kParts; ++i) {
      const TimePoint from = begin + part * static_cast<int>(i);
      const auto overlap = std::min(over, from + part) - std::max(times.scheduled, from);
      if (overlap > Duration(0)) busy[i] += to_seconds(overlap) / to_seconds(part);
    }
  }
  return busy;
}

}  // namespace

Saturation judge_saturation(std::span<const AnswerSample> samples, TimePoint begin, TimePoint end) {
  Saturation result;
  const Duration part = (end - begin) / static_cast<int>(kParts);
  if (part <= Duration(0)) return result;
  const Parts busy = in_flight(samples, begin, part);
  Parts ttft{};
  std::array<std::size_t, kParts> counts{};
  for (const auto& sample : samples) {
    const auto& times = sample.record.times;
    if (times.scheduled < begin || times.scheduled >= end) continue;
    const auto i = std::min<std::size_t>(static_cast<std::size_t>((times.scheduled - begin) / part), kParts - 1);
    // Who never got a token waited at least until the end.
    const auto wait = time_to_first_token(times).value_or(std::max(end, times.end.value_or(end)) - times.scheduled);
    ttft[i] += to_seconds(wait);
    ++counts[i];
  }
  for (std::size_t i = 0; i < kParts; ++i) {
    if (counts[i] == 0) return result;  // too few requests to tell
    ttft[i] /= static_cast<double>(counts[i]);
  }
  result.in_flight_growth = growth(busy);
  result.ttft_growth = growth(ttft);
  result.saturated = rises(busy) && rises(ttft) && result.in_flight_growth > kGrowth && result.ttft_growth > kGrowth;
  return result;
}

}  // namespace takt::measure
