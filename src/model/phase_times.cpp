#include "model/phase_times.h"

namespace takt {

std::string_view phase_name(StepPhase phase) {
  constexpr std::string_view kNames[kStepPhases] = {"other",
                                                    "norms, quantisation",
                                                    "queries, keys, values",
                                                    "rope, KV write",
                                                    "attention",
                                                    "attention output",
                                                    "gate and up",
                                                    "activation, quantisation",
                                                    "down",
                                                    "logits",
                                                    "sampling"};
  return kNames[static_cast<std::size_t>(phase)];
}

PhaseTimes::PhaseTimes(ThreadPool& pool) : pool_(pool) {
  pool_.count_busy(true);
}

PhaseTimes::~PhaseTimes() {
  pool_.count_busy(false);
}

void PhaseTimes::enter(StepPhase phase) {
  leave();
  inside_ = true;
  phase_ = phase;
}

void PhaseTimes::leave() {
  const TimePoint now = SteadyClock().now();
  const Duration busy = pool_.busy();
  if (inside_) {
    Time& time = times_[static_cast<std::size_t>(phase_)];
    time.wall += now - since_;
    time.busy += busy - busy_since_;
  }
  inside_ = false;
  since_ = now;
  busy_since_ = busy;
}

}  // namespace takt
