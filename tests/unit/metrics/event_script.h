// Shorthand for scripted engine events.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "core/event.h"

namespace takt::metrics {

inline TimePoint at_ms(int ms) {
  return TimePoint(std::chrono::milliseconds(ms));
}

template <typename What>
Event event(int ms, What what) {
  return {at_ms(ms), std::move(what)};
}

inline RequestLabels labels(std::string service_class, Tier tier = Tier::kRealtime) {
  RequestLabels result;
  result.service_class = std::move(service_class);
  result.tier = tier;
  return result;
}

inline Event accepted(int ms, std::uint64_t id, std::uint32_t prompt_tokens = 10, RequestLabels who = labels("chat"),
                      std::uint32_t choices = 1) {
  Accepted what;
  what.request = RequestId(id);
  what.labels = std::move(who);
  what.arrival = at_ms(ms);
  what.prompt_tokens = prompt_tokens;
  what.choices = choices;
  return event(ms, what);
}

inline Event admitted(int ms, std::uint64_t id, std::uint32_t cached = 0) {
  return event(ms, Admitted{RequestId(id), cached});
}

inline Event token(int ms, std::uint64_t id, std::uint32_t choice = 0) {
  TokenSampled what;
  what.request = RequestId(id);
  what.choice = choice;
  return event(ms, what);
}

inline Event choice_finished(int ms, std::uint64_t id, FinishReason reason = FinishReason::kStop,
                             std::uint32_t choice = 0) {
  ChoiceFinished what;
  what.request = RequestId(id);
  what.choice = choice;
  what.reason = reason;
  return event(ms, what);
}

inline Event closed(int ms, std::uint64_t id, FinishReason reason = FinishReason::kStop,
                    RequestPhase phase = RequestPhase::kDecode) {
  Closed what;
  what.request = RequestId(id);
  what.reason = reason;
  what.phase = phase;
  return event(ms, what);
}

inline StepCommitted step(std::uint32_t prefill_tokens, std::uint32_t decode_rows, Duration predicted,
                          Duration measured) {
  StepCommitted what;
  what.plan.entries.resize(1);
  what.plan.features.tokens = prefill_tokens + decode_rows;
  what.plan.features.decode_rows = decode_rows;
  what.plan.predicted = predicted;
  what.measured = measured;
  return what;
}

}  // namespace takt::metrics
