#include "measure/latency.h"

#include <algorithm>

namespace takt::measure {

std::optional<Duration> note_tokens(AnswerTimes& times, TimePoint at, std::uint32_t count) {
  times.tokens += count;
  if (!times.first_token) {
    times.first_token = at;
    times.last_token = at;
    return std::nullopt;
  }
  const Duration gap = at - times.last_token;
  times.last_token = at;
  times.worst_gap = std::max(times.worst_gap, gap);
  return gap;
}

std::optional<Duration> time_to_first_token(const AnswerTimes& times) {
  if (!times.first_token) return std::nullopt;
  return *times.first_token - times.scheduled;
}

std::optional<Duration> time_per_output_token(const AnswerTimes& times) {
  if (!times.first_token || times.tokens < 2) return std::nullopt;
  return (times.last_token - *times.first_token) / (times.tokens - 1);
}

std::optional<Duration> normalized_time_per_output_token(const AnswerTimes& times) {
  const auto whole = end_to_end(times);
  if (!whole || times.tokens == 0) return std::nullopt;
  return *whole / times.tokens;
}

std::optional<Duration> end_to_end(const AnswerTimes& times) {
  if (!times.end) return std::nullopt;
  return *times.end - times.scheduled;
}

Duration send_lag(const AnswerTimes& times) {
  return times.sent - times.scheduled;
}

}  // namespace takt::measure
