#include "sched/prefill_split.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include "sched/budget.h"

namespace takt {

namespace {

// A step that newcomers shorten keeps this part of its time at least, so that the oldest prompt goes on.
constexpr double kShortestStep = 0.125;

// How long a step may become for the oldest prompt's sake after newcomers took `used` of its `time_left`. Its share of
// the time that this makes, not all that is left: who is answered in this step waits for its end. Unless it can be
// finished within twice the newcomers' time.
double oldest_part(double used, double to_finish, double time_left, double newcomer_share) {
  if (used <= 0 || to_finish <= 2 * used) return time_left;
  return std::max(used / newcomer_share, time_left * kShortestStep);
}

// Hands out rows until a time or a number of rows is reached.
class Handout {
 public:
  Handout(std::span<const PromptCandidate> candidates, const StepTimeModel& model, StepFeatures& features,
          std::pmr::memory_resource* memory)
      : candidates_(candidates), model_(model), features_(features), granted_(candidates.size(), 0, memory) {}

  void give(std::size_t candidate, Duration limit, std::uint32_t most_in_all) {
    const PromptCandidate& prompt = candidates_[candidate];
    std::uint32_t& granted = granted_[candidate];
    const std::uint32_t wanted = std::min(prompt.remaining - granted, most_in_all - std::min(most_in_all, total_));
    const std::uint32_t rows = most_rows(model_, features_, prompt.first_position + granted, wanted, limit);
    features_ = with_rows(features_, prompt.first_position + granted, rows);
    granted += rows;
    total_ += rows;
  }

  std::pmr::vector<std::uint32_t> take() { return std::move(granted_); }

 private:
  std::span<const PromptCandidate> candidates_;
  const StepTimeModel& model_;
  StepFeatures& features_;
  std::pmr::vector<std::uint32_t> granted_;
  std::uint32_t total_ = 0;
};

}  // namespace

std::pmr::vector<std::uint32_t> split_prefill(std::span<const PromptCandidate> candidates, const PrefillRoom& room,
                                              const StepTimeModel& model, StepFeatures& features,
                                              std::pmr::memory_resource* memory) {
  Handout handout(candidates, model, features, memory);
  if (candidates.empty()) return handout.take();

  const auto oldest = static_cast<std::size_t>(
      std::min_element(candidates.begin(), candidates.end(),
                       [](const PromptCandidate& a, const PromptCandidate& b) { return a.order < b.order; }) -
      candidates.begin());
  std::pmr::vector<std::size_t> by_turn(candidates.size(), memory);
  std::iota(by_turn.begin(), by_turn.end(), std::size_t{0});
  std::sort(by_turn.begin(), by_turn.end(), [&](std::size_t a, std::size_t b) {
    const auto key = [](const PromptCandidate& c) { return std::tuple(c.turn, c.remaining, c.order); };
    return key(candidates[a]) < key(candidates[b]);
  });
  if (by_turn.front() == oldest) {
    for (const std::size_t candidate : by_turn) handout.give(candidate, room.limit, room.tokens);
    return handout.take();
  }

  const Duration before = model.predict(features);
  const double time_left = std::max(0.0, static_cast<double>((room.limit - before).count()));
  const auto after_part = [&](double part) {
    return part >= time_left ? room.limit : before + Duration(static_cast<std::int64_t>(part));
  };
  const auto newcomer_tokens = static_cast<std::uint32_t>(std::ceil(room.tokens * room.newcomer_share));
  for (const std::size_t candidate : by_turn) {
    if (candidate != oldest) handout.give(candidate, after_part(time_left * room.newcomer_share), newcomer_tokens);
  }
  const double used = static_cast<double>((model.predict(features) - before).count());
  const StepFeatures with_oldest = with_rows(features, candidates[oldest].first_position, candidates[oldest].remaining);
  const double to_finish_oldest = static_cast<double>((model.predict(with_oldest) - before).count());
  const double part = oldest_part(used, to_finish_oldest, time_left, room.newcomer_share);
  handout.give(oldest, after_part(part), room.tokens);
  for (const std::size_t candidate : by_turn) {
    if (candidate != oldest) handout.give(candidate, room.limit, room.tokens);
  }
  return handout.take();
}

}  // namespace takt
