#include "sched/budget.h"

#include <algorithm>

namespace takt {

namespace {

// Of a step that no stream waits for.
Duration unhurried_budget(const SchedulerOptions& options, Duration without_rows) {
  if (options.step_overhead <= 0.0) return options.max_step;
  const double warranted = to_seconds(without_rows) / options.step_overhead;
  if (warranted >= to_seconds(options.max_step)) return options.max_step;
  return std::max(from_seconds(warranted), std::min(options.step_target, options.max_step));
}

}  // namespace

Duration step_budget(const SchedulerOptions& options, std::optional<Duration> tightest_itl, Duration without_rows) {
  if (!tightest_itl) return unhurried_budget(options, without_rows);
  // A target below a millisecond is a mistake or a test's; no step could keep it.
  return std::max<Duration>(std::chrono::milliseconds(1),
                            std::min({options.step_target, *tightest_itl, options.max_step}));
}

StepFeatures with_rows(StepFeatures features, std::uint32_t first, std::uint32_t count) {
  features.tokens += count;
  features.attended_positions += attended_by(first, count);
  return features;
}

std::uint32_t most_rows(const StepTimeModel& model, const StepFeatures& so_far, std::uint32_t first,
                        std::uint32_t wanted, Duration limit) {
  const auto fits = [&](std::uint32_t count) { return model.predict(with_rows(so_far, first, count)) <= limit; };
  if (wanted == 0 || fits(wanted)) return wanted;
  std::uint32_t fit = 0;
  std::uint32_t too_many = wanted;
  while (too_many - fit > 1) {
    const std::uint32_t middle = fit + (too_many - fit) / 2;
    (fits(middle) ? fit : too_many) = middle;
  }
  return fit;
}

}  // namespace takt
