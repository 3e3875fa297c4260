// The latencies of one answer, defined once: server metrics, the load generator and reports all use these.
//
// TTFT = first non-empty token - scheduled arrival. ITL = every gap between tokens as received: tokens that arrive
// together make one gap, which is not spread over them. TPOT = (last - first) / (n - 1), undefined for n = 1. NTPOT =
// E2E / n. E2E = end - scheduled arrival.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"

namespace takt::measure {

// What is kept of one answer while its tokens come in. Constant size, whatever the answer's length.
struct AnswerTimes {
  TimePoint scheduled;  // when it was meant to arrive; waiting for a slow sender counts as latency
  TimePoint sent;       // when it was really sent
  std::optional<TimePoint> first_token;
  TimePoint last_token;          // only with first_token
  std::optional<TimePoint> end;  // empty while it runs
  Duration worst_gap{0};         // largest ITL so far
  std::uint32_t tokens = 0;
};

// Notes that `count` (>= 1) tokens arrived together. Returns the gap to the tokens before; empty for the first arrival.
std::optional<Duration> note_tokens(AnswerTimes& times, TimePoint at, std::uint32_t count = 1);

std::optional<Duration> time_to_first_token(const AnswerTimes& times);
std::optional<Duration> time_per_output_token(const AnswerTimes& times);
std::optional<Duration> normalized_time_per_output_token(const AnswerTimes& times);  // NTPOT
std::optional<Duration> end_to_end(const AnswerTimes& times);
Duration send_lag(const AnswerTimes& times);

}  // namespace takt::measure
