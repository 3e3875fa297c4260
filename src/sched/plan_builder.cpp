#include "sched/plan_builder.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "sched/budget.h"

namespace takt {

namespace {

constexpr double kBeforeAllTurns = -1e15;

}  // namespace

PlanBuilder::PlanBuilder(const SchedulerOptions& options, const CapacityView& view, const StepTimeModel& model,
                         const SequencePlaces& places, const PlanHistory& history, ServiceWalk& walk)
    : options_(options),
      view_(view),
      model_(model),
      places_(places),
      history_(history),
      walk_(walk),
      market_(view, places, options.preemption) {}

// Tier by tier: decode rows, admission, prefill. Batch decode rows go before realtime's prefill only as far as they
// hardly lengthen the step.
StepPlan PlanBuilder::build(StepId id, ModelIndex model) {
  plan_.id = id;
  plan_.model = model;
  choose_budget();
  add_decode_rows(Tier::kRealtime, Duration::max());
  entrance_.emplace(options_, view_, places_, history_.lengths, market_, walk_);
  collect_prompts(Tier::kRealtime);
  const bool realtime_prefills = !prompts_of(Tier::kRealtime).empty();
  add_decode_rows(Tier::kBatch, realtime_prefills ? limit_beside_prompts() : planned_limit_);
  plan_.beat_overrun = plan_.features.decode_rows > 0 && model_.predict(plan_.features) > plan_.budget;
  grant_prefill(Tier::kRealtime);
  if (realtime_prefills) add_decode_rows(Tier::kBatch, planned_limit_);
  collect_prompts(Tier::kBatch);
  grant_prefill(Tier::kBatch);
  insist_on_prefill();
  if (options_.padding) pad_ended_rows();
  plan_.drops = market_.drops();
  plan_.predicted = model_.predict(plan_.features);
  if (plan_.empty() && places_.running.empty() && entrance_->short_of_blocks())
    unserviceable_ = entrance_->first_in_line();
  return std::move(plan_);
}

void PlanBuilder::choose_budget() {
  std::optional<Duration> tightest;
  for (const ScheduledSequence& s : places_.running) {
    if (s.facts.tier != Tier::kRealtime || !s.is_decode_row()) continue;
    tightest = tightest ? std::min(*tightest, s.facts.itl_target) : s.facts.itl_target;
  }
  plan_.budget = step_budget(options_, tightest);
  planned_limit_ = from_seconds(to_seconds(plan_.budget) * (1.0 - options_.planning_margin));
}

// How long a step may get for batch decode rows while realtime prompts wait for what they leave.
Duration PlanBuilder::limit_beside_prompts() const {
  constexpr double kMostLengthening = 0.1;
  const Duration without = model_.predict(with_rows(plan_.features, 0, 1));
  return std::min(planned_limit_, without + from_seconds(to_seconds(planned_limit_) * kMostLengthening));
}

// Rows of the tier that are not in the plan yet, until the step would take longer than `limit`.
void PlanBuilder::add_decode_rows(Tier tier, Duration limit) {
  std::vector<const ScheduledSequence*> rows;
  rows.reserve(places_.running.size());
  for (const ScheduledSequence& s : places_.running) {
    if (s.facts.tier == tier && s.is_decode_row() && !market_.is_settled(s.facts.id)) rows.push_back(&s);
  }
  // Realtime by age, which is also who may take blocks from whom; of the batch tier, where time may not last for all,
  // by what their tenants have had, then those left out last time first.
  const bool takes_turns = tier == Tier::kBatch && options_.order == OrderRule::kFair;
  const auto key = [takes_turns](const ScheduledSequence* s) {
    const bool served = s->facts.tier == Tier::kRealtime || !s->passed_over_since.has_value();
    return std::tuple(takes_turns ? s->tenant->served : 0.0, served, s->order);
  };
  std::sort(rows.begin(), rows.end(), [&](auto* a, auto* b) { return key(a) < key(b); });
  for (const ScheduledSequence* s : rows) {
    if (market_.is_settled(s->facts.id)) continue;  // it gave its blocks to one before it
    if (plan_.features.tokens > 0 && model_.predict(with_rows(plan_.features, s->computed, 1)) > limit) break;
    if (plan_.features.tokens >= options_.max_step_tokens) break;
    if (!add_decode_row(*s)) market_.stand_back(*s);
  }
}

bool PlanBuilder::add_decode_row(const ScheduledSequence& s) {
  const std::uint32_t cover = std::max(s.cover, s.computed + 1);
  const GroupCounts need = view_.geometry.blocks_for(cover) - view_.geometry.blocks_for(s.cover);
  const bool may_preempt = options_.preemption != PreemptionRule::kNone;
  if (!need.none() && !(may_preempt ? market_.take_for_running(s, need) : market_.take_free(need))) return false;
  market_.pin(s.facts.id);
  plan_.features = with_rows(plan_.features, s.computed, 1);
  ++plan_.features.decode_rows;
  const bool samples = s.known < s.facts.limit_tokens;
  plan_.features.logits_rows += (samples || s.facts.scores_prompt) ? 1 : 0;
  plan_.entries.push_back({s.facts.id, EntryKind::kGenerate, s.computed, 1, samples, false, cover});
  return true;
}

// Prompts of the tier that are under way, and those that can be admitted.
void PlanBuilder::collect_prompts(Tier tier) {
  for (const ScheduledSequence& s : places_.running) {
    if (s.facts.tier != tier || s.remaining() < 2 || market_.is_settled(s.facts.id)) continue;
    prompts_of(tier).push_back({&s, s.computed, s.cover, false});
  }
  entrance_->let_in(tier, prompts_of(tier));
}

void PlanBuilder::grant_prefill(Tier tier) {
  if (prompts_of(tier).empty()) return;
  if (options_.prefill == PrefillRule::kWhole) return grant_whole_prompts(tier);
  grant_chunks(tier, planned_limit_, options_.max_step_tokens);
}

// Where no time was left for a single row: decode rows alone, but only so often in a row; without any, prefill must go
// on all the same.
void PlanBuilder::insist_on_prefill() {
  const bool wanted = std::any_of(prompts_.begin(), prompts_.end(), [](const auto& tier) { return !tier.empty(); });
  if (!wanted || prefills_ || options_.prefill == PrefillRule::kWhole) return;
  if (!plan_.entries.empty() && history_.decode_only_steps < options_.max_decode_only_steps) {
    prefill_left_out_ = true;
    return;
  }
  const std::uint32_t most_rows = plan_.features.tokens + view_.geometry.alignment;
  for (const Tier tier : kTiers) grant_chunks(tier, Duration::max(), most_rows);
}

// First come, first served, each in one piece, as many as the rows of a step allow; padded, all as wide as the widest.
void PlanBuilder::grant_whole_prompts(Tier tier) {
  const std::uint32_t room = options_.max_step_tokens - std::min(options_.max_step_tokens, plan_.features.tokens);
  std::uint32_t granted = 0;
  std::uint32_t rows = 0;
  std::uint32_t widest = 0;
  for (const Prompt& prompt : prompts_of(tier)) {
    const std::uint32_t wanted = prompt.sequence->known - prompt.first_position;
    const std::uint32_t wide = std::max(widest, wanted);
    const std::uint64_t in_all = options_.padding ? std::uint64_t{granted + 1} * wide : std::uint64_t{rows} + wanted;
    if (in_all > room && (granted > 0 || room == 0)) {
      entrance_->note_left_out(tier);
      break;
    }
    const std::uint32_t tokens = std::min(wanted, room);
    plan_.features = with_rows(plan_.features, prompt.first_position, tokens);
    add_prompt(prompt, tokens);
    ++granted;
    rows += tokens;
    widest = std::max(widest, tokens);
  }
  if (options_.padding) pad(granted * widest - rows);
}

PromptCandidate PlanBuilder::candidate(const Prompt& prompt) const {
  const ScheduledSequence& s = *prompt.sequence;
  PromptCandidate candidate{s.order, prompt.first_position, s.known - prompt.first_position};
  if (options_.order == OrderRule::kDeadline) candidate.turn = to_seconds(s.facts.deadline.time_since_epoch());
  if (options_.order == OrderRule::kFair) candidate.turn = s.tenant->served;
  // Among these, who came first.
  if (prompt.urgent) candidate.turn = kBeforeAllTurns + static_cast<double>(s.order);
  return candidate;
}

void PlanBuilder::pad(std::uint32_t rows) {
  plan_.features.padding_rows += rows;
  plan_.features.tokens += rows;
}

// A naive static batch computes a row for every member in every step until the last one has ended.
void PlanBuilder::pad_ended_rows() {
  if (plan_.features.decode_rows == 0) return;
  std::size_t alive = places_.running.size();
  for (const TierQueues& queues : places_.tiers) alive += queues.resuming.size() + queues.siblings.size();
  const auto ended = history_.batch_members - std::min<std::size_t>(history_.batch_members, alive);
  const std::uint32_t room = options_.max_step_tokens - std::min(options_.max_step_tokens, plan_.features.tokens);
  pad(std::min(static_cast<std::uint32_t>(ended), room));
}

// Pieces of the tier's prompts until the step would take longer than `limit` or have more than `most_rows`.
void PlanBuilder::grant_chunks(Tier tier, Duration limit, std::uint32_t most_rows) {
  const std::vector<Prompt>& prompts = prompts_of(tier);
  const std::uint32_t rows = std::min(most_rows, options_.max_step_tokens);
  const PrefillRoom room{limit, rows - std::min(rows, plan_.features.tokens), options_.newcomer_share};
  std::vector<PromptCandidate> candidates;
  candidates.reserve(prompts.size());
  for (const Prompt& prompt : prompts) candidates.push_back(candidate(prompt));
  const std::vector<std::uint32_t> granted = split_prefill(candidates, room, model_, plan_.features);
  bool left_out = false;
  for (std::size_t i = 0; i < granted.size(); ++i) {
    if (granted[i] > 0) add_prompt(prompts[i], granted[i]);
    left_out = left_out || (granted[i] == 0 && prompts[i].admits);
  }
  if (left_out) entrance_->note_left_out(tier);
}

void PlanBuilder::add_prompt(const Prompt& prompt, std::uint32_t tokens) {
  const ScheduledSequence& s = *prompt.sequence;
  const std::uint32_t end = prompt.first_position + tokens;
  const bool samples = end == s.known && s.known < s.facts.limit_tokens;
  prefills_ = true;
  plan_.features.logits_rows += s.facts.scores_prompt ? tokens : (samples ? 1 : 0);
  plan_.entries.push_back({s.facts.id, EntryKind::kGenerate, prompt.first_position, tokens, samples, prompt.admits,
                           std::max(prompt.cover_tokens, end)});
}

}  // namespace takt
