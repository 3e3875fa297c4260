// Goodput and attainment: how much of what was offered met ALL targets of its class.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/clock.h"
#include "measure/latency.h"

namespace takt::measure {

// Promises of a service class. An empty one is not tested.
struct Targets {
  std::optional<Duration> ttft;
  std::optional<Duration> itl;   // tested against the answer's worst gap
  std::optional<Duration> tpot;  // not tested for answers of one token
  std::optional<Duration> end_to_end;
};

enum class Outcome : std::uint8_t {
  kComplete,
  kFailed,
  kShed,       // refused at the door
  kExpired,    // waited longer than its class allows
  kCancelled,  // by the user: left out of attainment, and counted
};

struct RequestRecord {
  AnswerTimes times;
  Outcome outcome = Outcome::kComplete;
  Targets targets;
};

// A complete answer with a token, and every target met. A latency that is exactly the target meets it.
bool met_all_targets(const RequestRecord& record);

struct Goodput {
  std::uint64_t offered = 0;  // without cancelled ones
  std::uint64_t cancelled = 0;
  std::uint64_t met = 0;
  std::uint64_t met_tokens = 0;

  // Share of the offered requests that met all targets; empty when nothing was offered.
  std::optional<double> attainment() const;
  double requests_per_second(Duration window) const;  // window > 0
  double tokens_per_second(Duration window) const;    // window > 0
};

void count(Goodput& goodput, const RequestRecord& record);
Goodput goodput(std::span<const RequestRecord> records);

}  // namespace takt::measure
