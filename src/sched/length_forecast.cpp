#include "sched/length_forecast.h"

#include <algorithm>

namespace takt {

namespace {

constexpr double kQuantile = 0.8;

}  // namespace

void LengthForecast::observe(std::uint32_t tokens) {
  sorted_.reserve(kKept);  // both lists have it, or none
  if (recent_.size() == kKept) {
    sorted_.erase(std::lower_bound(sorted_.begin(), sorted_.end(), recent_.front()));
    recent_.pop_front();
  }
  recent_.push_back(tokens);
  sorted_.insert(std::upper_bound(sorted_.begin(), sorted_.end(), tokens), tokens);
}

std::uint32_t LengthForecast::remaining(std::uint32_t generated, std::uint32_t limit) const {
  const std::uint32_t most = limit - std::min(limit, generated);
  const auto longer = std::upper_bound(sorted_.begin(), sorted_.end(), generated);
  const auto count = static_cast<std::size_t>(sorted_.end() - longer);
  if (count < kEnough) return std::min(most, kBeforeData);
  const auto at = static_cast<std::size_t>(kQuantile * static_cast<double>(count - 1));
  return std::min(most, *(longer + static_cast<std::ptrdiff_t>(at)) - generated);
}

std::uint64_t peak_growth(std::span<LengthOutlook> outlooks, std::uint32_t slack) {
  std::sort(outlooks.begin(), outlooks.end(),
            [](const LengthOutlook& a, const LengthOutlook& b) { return a.remaining > b.remaining; });
  std::int64_t given_back = 0;  // by those that end before the moment looked at
  for (const LengthOutlook& outlook : outlooks) given_back += outlook.held_tokens;
  std::int64_t grown = 0;  // without the growth up to the moment, which is the same for all that still run
  std::int64_t peak = 0;
  std::int64_t count = 0;
  for (const LengthOutlook& outlook : outlooks) {
    ++count;
    given_back -= outlook.held_tokens;
    grown += std::int64_t{outlook.known_tokens} - outlook.held_tokens + slack;
    peak = std::max(peak, grown + count * outlook.remaining - given_back);
  }
  return static_cast<std::uint64_t>(peak);
}

}  // namespace takt
