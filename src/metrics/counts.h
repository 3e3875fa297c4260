// Everything the server counts, as one plain value: a scrape copies it and so sees a single instant.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "core/event.h"
#include "core/prefix_miss.h"
#include "core/step.h"
#include "measure/goodput.h"
#include "metrics/busy_window.h"
#include "metrics/exemplar.h"
#include "metrics/histogram.h"

namespace takt::metrics {

// Bounds that suit machines at home: a 1-second TTFT target, gaps of a few to some hundred milliseconds, answers of
// minutes.
inline constexpr std::array kFirstTokenBounds{0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0,
                                              1.5,  2.0,   3.0,  5.0, 7.5, 10., 20., 30.,  60.};
inline constexpr std::array kGapBounds{0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.075, 0.1,
                                       0.125, 0.15, 0.2,  0.3,  0.5,  0.75, 1.0,  2.0,   5.0};
inline constexpr std::array kRequestBounds{0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10., 20., 30., 60., 120., 300., 600., 1800.};
inline constexpr std::array kQueueWaitBounds{0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                             0.5,   1.0,   2.5,  5.0,   10.,  30., 60.};
inline constexpr std::array kStepBounds{0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.0625, 0.075,
                                        0.1,   0.125,  0.15,  0.2,  0.25, 0.3,  0.5,  1.0,  2.0};
inline constexpr std::array kSequenceBounds{1.0, 2.0, 3.0, 4.0, 6.0, 8.0,  12.,  16.,
                                            24., 32., 48., 64., 96., 128., 256., 512.};
inline constexpr std::array kRatioBounds{0.25, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0, 1.05, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0};

// Goodput of the last minutes; `window` is shorter while the server is younger.
struct RecentGoodput {
  measure::Goodput goodput;
  Duration window{0};
};
struct NamedWindow {
  const char* name;
  Duration length;
};
inline constexpr std::array kGoodputWindows{NamedWindow{"1m", std::chrono::minutes(1)},
                                            NamedWindow{"5m", std::chrono::minutes(5)},
                                            NamedWindow{"60m", std::chrono::minutes(60)}};

// Requests of one service class. started = finished + failed + cancelled + refused + running + waiting, always.
struct ClassCounts {
  std::string service_class;
  Tier tier = Tier::kRealtime;
  std::uint64_t started = 0;
  std::uint64_t finished = 0;
  std::uint64_t failed = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t refused = 0;  // at the door, or expired in the queue
  std::uint64_t running = 0;
  std::uint64_t waiting = 0;
  std::uint64_t first_tokens = 0;                               // requests that got a first token
  std::uint64_t waiting_tokens = 0;                             // prompt tokens of the waiting ones
  std::uint64_t prompt_tokens = 0;                              // of admitted requests
  std::uint64_t cached_tokens = 0;                              // of these, found in the prefix cache
  std::array<std::uint64_t, kPrefixMissCount> missed_tokens{};  // of these, not found, by reason
  std::uint64_t generated_tokens = 0;
  measure::Goodput goodput;
  std::array<RecentGoodput, kGoodputWindows.size()> recent;
  Histogram first_token{kFirstTokenBounds};
  Histogram token_gap{kGapBounds};
  Histogram per_token{kGapBounds};
  Histogram duration{kRequestBounds};
  Histogram queue_wait{kQueueWaitBounds};
  Exemplars first_token_exemplars{};
  Exemplars duration_exemplars{};
};

// What one tenant asked for and got.
struct TenantCounts {
  std::string tenant;
  std::uint64_t requests = 0;  // received, refused ones included
  std::uint64_t refused = 0;
  std::uint64_t prompt_tokens = 0;  // of admitted requests
  std::uint64_t cached_tokens = 0;
  std::uint64_t generated_tokens = 0;
  Duration waited{0};  // by requests now over
};

enum class StepPhase : std::uint8_t { kPrefill, kDecode, kMixed };
inline constexpr std::size_t kStepPhaseCount = 3;

// What a model's steps have to do, and what the machine can. 0: not known.
struct ModelWork {
  double bytes_per_step = 0.0;       // of its matrices
  double products_per_row = 0.0;     // multiply-accumulates
  double products_per_logits = 0.0;  // besides, for a row that wants logits
  double peak_bytes_per_second = 0.0;
  double peak_products_per_second = 0.0;
};

// What batch windows cost and brought.
struct WindowCounts {
  std::uint64_t held = 0;   // sequences that waited for a window before they started
  Duration waited{0};       // by them, for it
  std::uint64_t added = 0;  // of these, that started in one step with another one: rows that it had not had without
};

// Steps of one loaded model.
struct ModelCounts {
  std::string name;
  std::array<std::uint64_t, kStepPhaseCount> steps{};
  std::uint64_t prefill_tokens = 0;
  std::uint64_t decode_tokens = 0;
  std::uint64_t padding_rows = 0;  // computed for nobody
  std::uint64_t logits_rows = 0;
  ModelWork work;
  AdmissionPressure pressure;               // as of the last step
  std::uint64_t beat_overruns = 0;          // planned longer than the budget, with decode rows
  std::uint64_t steps_over_budget = 0;      // measured longer than the budget
  std::uint64_t preemptions_recompute = 0;  // by what became of the tokens
  std::uint64_t preemptions_swap = 0;
  std::uint64_t preemptions_seat = 0;  // nothing was given up but the seat
  std::uint64_t preemptions() const { return preemptions_recompute + preemptions_swap + preemptions_seat; }
  std::uint64_t preempted_tokens = 0;  // to be computed again
  std::uint64_t swaps_lost = 0;        // sequences whose part of the arena was lost
  std::uint64_t failed_steps_retryable = 0;
  std::uint64_t failed_steps_fatal = 0;
  WindowCounts window;
  Duration busy{0};
  BusyWindow last_minute;
  std::array<Duration, kWaitReasonCount> idle_while_waiting{};
  Histogram step_sequences{kSequenceBounds};  // batch occupancy
  Histogram step_duration{kStepBounds};
  Histogram measured_by_predicted{kRatioBounds};
};

inline constexpr std::size_t kRequestPhaseCount = 3;
inline constexpr std::size_t kFinishReasonCount = 5;

struct Counts {
  std::vector<ClassCounts> classes;
  std::vector<TenantCounts> tenants;
  std::vector<ModelCounts> models;
  std::array<std::uint64_t, kFinishReasonCount> closed_by_reason{};
  std::array<std::uint64_t, kRequestPhaseCount> cancelled_by_phase{};
  std::map<ErrorCode, std::uint64_t> refused_by_reason;
  std::array<Duration, kWaitReasonCount> waited{};  // by closed requests
  Duration worst_current_gap{0};  // longest time since the last token of a sequence that is generating
};

}  // namespace takt::metrics
