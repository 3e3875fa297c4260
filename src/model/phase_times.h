// Where the time of steps goes, phase by phase, for benches.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/clock.h"
#include "base/thread_pool.h"

namespace takt {

enum class StepPhase : std::uint8_t {
  kOther,      // embedding, angles, bookkeeping
  kNormalise,  // norms, and the quantisation of what products read
  kQueriesKeysValues,
  kRopeAndStore,  // and keys and values written to the cache
  kAttention,
  kAttentionOutput,
  kGateUp,
  kActivate,  // silu * up, quantised
  kDown,
  kLogits,
  kSample,
};
inline constexpr std::size_t kStepPhases = 11;

std::string_view phase_name(StepPhase phase);

// Measures one thread's steps: a phase lasts from its enter() to the next. Lives no longer than its pool, which counts
// its threads' busy time for it.
class PhaseTimes {
 public:
  struct Time {
    Duration wall{0};
    Duration busy{0};  // of all threads on work that was handed out to them
  };

  explicit PhaseTimes(ThreadPool& pool);
  ~PhaseTimes();
  PhaseTimes(const PhaseTimes&) = delete;
  PhaseTimes& operator=(const PhaseTimes&) = delete;

  void enter(StepPhase phase);
  void leave();  // what comes is no part of a step
  void clear() { times_ = {}; }

  const Time& of(StepPhase phase) const { return times_[static_cast<std::size_t>(phase)]; }

 private:
  ThreadPool& pool_;
  std::array<Time, kStepPhases> times_;
  bool inside_ = false;
  StepPhase phase_ = StepPhase::kOther;
  TimePoint since_;
  Duration busy_since_{0};
};

}  // namespace takt
