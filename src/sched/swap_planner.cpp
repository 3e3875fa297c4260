#include "sched/swap_planner.h"

#include <algorithm>

#include "sched/budget.h"

namespace takt {

namespace {

// Of the time that a step's rows take. What a page costs the others beside its copy, the read that went before it and
// what it leaves of their caches, is about as much again: together well below the tenth that they may notice.
constexpr double kRowsForSwapIns = 0.04;
// Of the budget of a step without rows: nobody waits for it but who may come meanwhile.
constexpr double kBudgetForSwapIns = 0.05;
// Of the budget: rows that fill it and these copies are a step of a beat and a quarter. Those who wait leave some of it
// to those who run, who need their blocks at once.
constexpr double kBudgetForSwapOuts = 0.25;
constexpr double kPartOfThoseWhoWait = 0.8;
// A plan names so many of each tier, so that the next one is read while the first is copied.
constexpr std::size_t kFetchedAhead = 2;

}  // namespace

bool swap_is_quicker(const StepTimeModel& model, const SwapView& swap, std::uint32_t first, std::uint32_t tokens,
                     std::uint32_t leave, std::uint32_t come_back) {
  // Computed beside others, it costs what it adds to a step.
  const StepFeatures others = with_rows({}, 0, 1);
  const Duration compute = model.predict(with_rows(others, first, tokens)) - model.predict(others);
  return leave * swap.out_seconds + come_back * swap.in_seconds < to_seconds(compute);
}

SwapPlanner::SwapPlanner(const SchedulerOptions& options, const CapacityView& view, const StepTimeModel& model,
                         StepPlan& plan)
    : options_(options), view_(view), model_(model), plan_(plan) {}

void SwapPlanner::set_budget(Duration budget) {
  if (view_.swap.total_pages == 0) return;
  StepFeatures page;
  page.swapped_blocks = view_.geometry.page_blocks();
  page_seconds_ = to_seconds(model_.predict(page));
  budget_ = budget;
}

// At least one: what copies nothing brings nobody back.
std::uint32_t SwapPlanner::pages_within(double seconds) const {
  const double most = page_seconds_ > 0.0 ? seconds / page_seconds_ : view_.swap.total_pages;
  return static_cast<std::uint32_t>(std::clamp<double>(most, 1.0, view_.swap.total_pages));
}

std::uint32_t SwapPlanner::most_pages_in() const {
  StepFeatures rows = plan_.features;
  if (rows.tokens == 0) return pages_within(to_seconds(budget_) * kBudgetForSwapIns);
  rows.swapped_blocks = 0;
  return pages_within(to_seconds(model_.predict(rows)) * kRowsForSwapIns);
}

bool SwapPlanner::may_swap() const {
  return options_.preemption == PreemptionRule::kSwap || options_.preemption == PreemptionRule::kAuto;
}

std::uint32_t SwapPlanner::room_out() const {
  return std::min(view_.swap.free_pages, view_.swap.out_pages);
}

std::optional<std::uint32_t> SwapPlanner::pages_out_at_once() const {
  if (!may_swap() || room_out() == 0) return std::nullopt;
  return pages_within(to_seconds(budget_) * kBudgetForSwapOuts * kPartOfThoseWhoWait);
}

void SwapPlanner::bring_back(const ScheduledSequence& s, std::uint32_t cover_tokens) {
  name(s);
  const auto& arrivals = view_.swap.arrivals;
  const auto arrived =
      std::find_if(arrivals.begin(), arrivals.end(), [&](const SwapArrival& a) { return a.sequence == s.facts.id; });
  if (arrived == arrivals.end()) return;
  const std::uint32_t most = most_pages_in();
  const std::uint32_t pages = std::min(arrived->pages, most - std::min(most, pages_in_));
  if (pages == 0) return;
  pages_in_ += pages;
  const std::uint64_t until = std::uint64_t{s.computed} + std::uint64_t{pages} * view_.geometry.alignment;
  plan_.swap_ins.push_back(
      {s.facts.id, static_cast<std::uint32_t>(std::min<std::uint64_t>(until, s.swapped_until)), cover_tokens});
}

bool SwapPlanner::leaves_for_arena(const ScheduledSequence& s, const PlanDrop& drop, std::uint32_t room) const {
  if (!may_swap()) return false;
  const std::uint32_t leave = view_.geometry.pages_for(s.computed - drop.keep_tokens);
  if (leave > room) return false;
  if (options_.preemption == PreemptionRule::kSwap) return true;
  const std::uint32_t tokens = std::max(s.computed, s.swapped_until) - drop.keep_tokens;
  return swap_is_quicker(model_, view_.swap, drop.keep_tokens, tokens, leave, view_.geometry.pages_for(tokens));
}

std::uint32_t SwapPlanner::choose_kinds(const BlockMarket& market) {
  if (view_.swap.total_pages == 0) return 0;
  const std::uint32_t room = std::min(room_out(), pages_within(to_seconds(budget_) * kBudgetForSwapOuts));
  std::uint32_t pages_out = 0;
  for (PlanDrop& drop : plan_.drops) {
    const ScheduledSequence& s = *market.holder(drop.sequence);
    if (drop.keep_tokens >= s.computed || !leaves_for_arena(s, drop, room - pages_out)) continue;
    drop.kind = PreemptionKind::kSwap;
    pages_out += view_.geometry.pages_for(s.computed - drop.keep_tokens);
  }
  return pages_out * view_.geometry.page_blocks();
}

void SwapPlanner::name(const ScheduledSequence& s) {
  std::size_t& of_tier = fetched_[index_of(s.facts.tier)];
  if (of_tier == kFetchedAhead) return;
  if (std::find(plan_.fetches.begin(), plan_.fetches.end(), s.facts.id) != plan_.fetches.end()) return;
  plan_.fetches.push_back(s.facts.id);
  ++of_tier;
}

void SwapPlanner::name_fetches(const SequencePlaces& places) {
  if (view_.swap.total_pages == 0) return;
  for (const Tier tier : kTiers) {
    for (const ScheduledSequence& s : places.of(tier).resuming) {
      if (fetched_[index_of(tier)] == kFetchedAhead) break;
      if (s.is_swapped()) name(s);
    }
  }
}

}  // namespace takt
