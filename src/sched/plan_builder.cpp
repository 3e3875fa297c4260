#include "sched/plan_builder.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "sched/admission.h"
#include "sched/budget.h"

namespace takt {

PlanBuilder::PlanBuilder(const SchedulerOptions& options, const CapacityView& view, const StepTimeModel& model,
                         const SequencePlaces& places, const PlanHistory& history)
    : options_(options), view_(view), model_(model), places_(places), history_(history), market_(view, places) {}

StepPlan PlanBuilder::build(StepId id, ModelIndex model) {
  plan_.id = id;
  plan_.model = model;
  choose_budget();
  add_decode_rows();
  collect_prompts_under_way();
  collect_admissible();
  grant_prefill();
  plan_.drops = market_.drops();
  plan_.predicted = model_.predict(plan_.features);
  if (plan_.empty() && places_.running.empty() && short_of_blocks_) unserviceable_ = first_in_line_;
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

void PlanBuilder::add_decode_rows() {
  std::vector<const ScheduledSequence*> rows;
  rows.reserve(places_.running.size());
  for (const ScheduledSequence& s : places_.running) {
    if (s.is_decode_row()) rows.push_back(&s);
  }
  // Realtime first and by age, which is also who may take blocks from whom; of the batch tier, those left out last time
  // first.
  const auto key = [](const ScheduledSequence* s) {
    const bool served = s->facts.tier == Tier::kRealtime || !s->passed_over_since.has_value();
    return std::tuple(s->facts.tier, served, s->order);
  };
  std::sort(rows.begin(), rows.end(), [&](auto* a, auto* b) { return key(a) < key(b); });
  for (const ScheduledSequence* s : rows) {
    if (market_.preempted_running() && market_.is_dropped(s->facts.id)) continue;
    if (s->facts.tier != Tier::kRealtime && plan_.features.tokens > 0 &&
        model_.predict(with_rows(plan_.features, s->computed, 1)) > planned_limit_) {
      break;
    }
    if (plan_.features.tokens >= options_.max_step_tokens) break;
    if (!add_decode_row(*s)) market_.stand_back(*s);
  }
  plan_.beat_overrun = plan_.features.decode_rows > 0 && model_.predict(plan_.features) > plan_.budget;
}

bool PlanBuilder::add_decode_row(const ScheduledSequence& s) {
  const std::uint32_t cover = std::max(s.cover, s.computed + 1);
  const GroupCounts need = view_.geometry.blocks_for(cover) - view_.geometry.blocks_for(s.cover);
  if (!need.none() && !market_.take_for_running(s, need)) return false;
  market_.pin(s.facts.id);
  plan_.features = with_rows(plan_.features, s.computed, 1);
  ++plan_.features.decode_rows;
  const bool samples = s.known < s.facts.limit_tokens;
  plan_.features.logits_rows += (samples || s.facts.scores_prompt) ? 1 : 0;
  plan_.entries.push_back({s.facts.id, EntryKind::kGenerate, s.computed, 1, samples, false, cover});
  return true;
}

void PlanBuilder::collect_prompts_under_way() {
  for (const ScheduledSequence& s : places_.running) {
    if (s.remaining() < 2 || market_.is_dropped(s.facts.id)) continue;
    prompts_.push_back({&s, s.computed, s.cover, false});
  }
}

const CachedPrefix* PlanBuilder::cached_prefix(SequenceId sequence) const {
  const auto it = std::find_if(view_.prefixes.begin(), view_.prefixes.end(),
                               [&](const CachedPrefix& p) { return p.sequence == sequence; });
  return it == view_.prefixes.end() ? nullptr : &*it;
}

void PlanBuilder::collect_admissible() {
  const auto running = static_cast<std::uint32_t>(places_.running.size());
  seats_left_ = options_.max_sequences - std::min(options_.max_sequences, running);
  for (const Tier tier : kTiers) {
    const TierQueues& queues = places_.of(tier);
    resuming_reasons_[index_of(tier)] = walk_queue(queues.resuming);
    // Preempted work resumes before unstarted work of its tier.
    unstarted_reasons_[index_of(tier)] =
        resuming_reasons_[index_of(tier)] != WaitReason::kNone && !queues.unstarted.empty()
            ? resuming_reasons_[index_of(tier)]
            : walk_queue(queues.unstarted);
  }
}

// The reason why the queue, from some member on, cannot enter; kNone when all members that were looked at can.
WaitReason PlanBuilder::walk_queue(const SequenceList& queue) {
  std::uint32_t looked_at = 0;
  for (const ScheduledSequence& s : queue) {
    if (first_in_line_ == nullptr) first_in_line_ = &s;
    if (market_.preempted_running()) return WaitReason::kPreemption;
    if (seats_left_ == 0) return WaitReason::kSeat;
    if (short_of_blocks_) return WaitReason::kBlocks;
    if (looked_at++ == options_.lookahead) return WaitReason::kStepTime;
    // First come, first served: what waits for blocks holds back those behind it, of lower tiers too, or it would wait
    // for ever.
    if (!admit(s)) {
      short_of_blocks_ = true;
      return WaitReason::kBlocks;
    }
  }
  return WaitReason::kNone;
}

bool PlanBuilder::admit(const ScheduledSequence& s) {
  if (market_.is_dropped(s.facts.id)) return false;
  std::uint32_t first = s.computed;
  GroupCounts held = view_.geometry.blocks_for(s.cover);
  GroupCounts need;
  if (s.cover == 0) {
    const CachedPrefix* prefix = cached_prefix(s.facts.id);
    first = prefix == nullptr ? 0 : prefix->tokens;
    held = view_.geometry.blocks_for(first);
    if (prefix != nullptr) need = prefix->evictable;
  }
  // The whole prompt, and for a protected sequence all that it may ever need.
  const bool is_protected = s.preemptions_by_own_tier >= options_.protect_after;
  const std::uint32_t cover = std::max(is_protected ? s.facts.limit_tokens : s.known, s.cover);
  need += view_.geometry.blocks_for(cover) - held;
  const bool alone = places_.running.empty() && admissible_ == 0;
  const GroupCounts spare = alone ? GroupCounts{} : watermark_blocks(view_.total, options_.watermark);
  if (!market_.take_for_waiting(s, need, spare, alone)) return false;
  market_.pin(s.facts.id);
  --seats_left_;
  ++admissible_;
  prompts_.push_back({&s, first, cover, true});
  return true;
}

void PlanBuilder::grant_prefill() {
  if (prompts_.empty()) return;
  PrefillRoom room;
  room.limit = planned_limit_;
  room.newcomer_share = options_.newcomer_share;
  room.tokens = options_.max_step_tokens - std::min(options_.max_step_tokens, plan_.features.tokens);
  const std::size_t decode_entries = plan_.entries.size();
  for (const Tier tier : kTiers) grant_tier(tier, room);
  if (plan_.entries.size() > decode_entries) return;

  // No time left for a single row. Decode rows alone, but only so often in a row; without any, prefill must go on all
  // the same.
  if (decode_entries > 0 && history_.decode_only_steps < options_.max_decode_only_steps) {
    prefill_left_out_ = true;
    return;
  }
  room.limit = Duration::max();
  room.tokens = std::min(room.tokens, view_.geometry.alignment);
  for (const Tier tier : kTiers) grant_tier(tier, room);
}

void PlanBuilder::grant_tier(Tier tier, PrefillRoom& room) {
  std::vector<const Prompt*> of_tier;
  std::vector<PromptCandidate> candidates;
  for (const Prompt& prompt : prompts_) {
    if (prompt.sequence->facts.tier != tier) continue;
    of_tier.push_back(&prompt);
    candidates.push_back(
        {prompt.sequence->order, prompt.first_position, prompt.sequence->known - prompt.first_position});
  }
  const std::vector<std::uint32_t> granted = split_prefill(candidates, room, model_, plan_.features);
  bool left_out = false;
  for (std::size_t i = 0; i < granted.size(); ++i) {
    if (granted[i] > 0) add_prompt(*of_tier[i], granted[i]);
    room.tokens -= std::min(room.tokens, granted[i]);
    left_out = left_out || (granted[i] == 0 && of_tier[i]->admits);
  }
  if (!left_out) return;
  // Admissible, but without a token: they stay in their queue.
  WaitReason& unstarted = unstarted_reasons_[index_of(tier)];
  if (unstarted == WaitReason::kNone) unstarted = WaitReason::kStepTime;
  WaitReason& resuming = resuming_reasons_[index_of(tier)];
  if (resuming == WaitReason::kNone) resuming = WaitReason::kStepTime;
}

void PlanBuilder::add_prompt(const Prompt& prompt, std::uint32_t tokens) {
  const ScheduledSequence& s = *prompt.sequence;
  const std::uint32_t end = prompt.first_position + tokens;
  const bool samples = end == s.known && s.known < s.facts.limit_tokens;
  plan_.features.logits_rows += s.facts.scores_prompt ? tokens : (samples ? 1 : 0);
  plan_.entries.push_back({s.facts.id, EntryKind::kGenerate, prompt.first_position, tokens, samples, prompt.admits,
                           std::max(prompt.cover_tokens, end)});
}

}  // namespace takt
