#include "sched/prefill_split.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sched/budget.h"

namespace takt {

namespace {

// Hands out rows until a time or a number of rows is reached.
class Handout {
 public:
  Handout(std::span<const PromptCandidate> candidates, const StepTimeModel& model, StepFeatures& features)
      : candidates_(candidates), model_(model), features_(features), granted_(candidates.size(), 0) {}

  void give(std::size_t candidate, Duration limit, std::uint32_t most_in_all) {
    const PromptCandidate& prompt = candidates_[candidate];
    std::uint32_t& granted = granted_[candidate];
    const std::uint32_t wanted = std::min(prompt.remaining - granted, most_in_all - std::min(most_in_all, total_));
    const std::uint32_t rows = most_rows(model_, features_, prompt.first_position + granted, wanted, limit);
    features_ = with_rows(features_, prompt.first_position + granted, rows);
    granted += rows;
    total_ += rows;
  }

  std::vector<std::uint32_t> take() { return std::move(granted_); }

 private:
  std::span<const PromptCandidate> candidates_;
  const StepTimeModel& model_;
  StepFeatures& features_;
  std::vector<std::uint32_t> granted_;
  std::uint32_t total_ = 0;
};

}  // namespace

std::vector<std::uint32_t> split_prefill(std::span<const PromptCandidate> candidates, const PrefillRoom& room,
                                         const StepTimeModel& model, StepFeatures& features) {
  Handout handout(candidates, model, features);
  if (candidates.empty()) return handout.take();

  const auto older = [](const PromptCandidate& a, const PromptCandidate& b) { return a.order < b.order; };
  const auto oldest =
      static_cast<std::size_t>(std::min_element(candidates.begin(), candidates.end(), older) - candidates.begin());
  std::vector<std::size_t> others(candidates.size());
  std::iota(others.begin(), others.end(), std::size_t{0});
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(oldest));
  std::sort(others.begin(), others.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(candidates[a].remaining, candidates[a].order) <
           std::pair(candidates[b].remaining, candidates[b].order);
  });

  const Duration before = model.predict(features);
  const double time_left = std::max(0.0, static_cast<double>((room.limit - before).count()));
  const Duration newcomer_limit = before + Duration(static_cast<std::int64_t>(time_left * room.newcomer_share));
  const auto newcomer_tokens = static_cast<std::uint32_t>(std::ceil(room.tokens * room.newcomer_share));
  for (const std::size_t candidate : others) handout.give(candidate, newcomer_limit, newcomer_tokens);
  handout.give(oldest, room.limit, room.tokens);
  for (const std::size_t candidate : others) handout.give(candidate, room.limit, room.tokens);
  return handout.take();
}

}  // namespace takt
