// The time budget of a step, and how many tokens fit it. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "core/step.h"
#include "core/step_time_model.h"
#include "sched/options.h"

namespace takt {

// `tightest_itl`: smallest inter-token target among realtime sequences that are decoding; empty when there is none.
// `without_rows`: what a step takes beside its rows.
Duration step_budget(const SchedulerOptions& options, std::optional<Duration> tightest_itl, Duration without_rows);

// `features` with `count` more rows from position `first` on.
StepFeatures with_rows(StepFeatures features, std::uint32_t first, std::uint32_t count);

// Most rows from `first` on, up to `wanted`, with which the step is predicted to last no longer than `limit`.
std::uint32_t most_rows(const StepTimeModel& model, const StepFeatures& so_far, std::uint32_t first,
                        std::uint32_t wanted, Duration limit);

}  // namespace takt
