#include "sched/plan_builder.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "sched/budget.h"
#include "sched/reserve_return.h"

namespace takt {

namespace {

constexpr double kBeforeAllTurns = -1e15;
constexpr double kMostOfStep = 0.9;  // that a minimum share may be

// Of a step, beside what its rows add.
Duration time_without_rows(const StepTimeModel& model) {
  const Duration one = model.predict(with_rows({}, 0, 1));
  const Duration two = model.predict(with_rows({}, 0, 2));
  return std::max(Duration::zero(), one - (two - one));
}

}  // namespace

void clear_plan(StepPlan& plan) {
  StepPlan empty;
  empty.entries.swap(plan.entries);
  empty.drops.swap(plan.drops);
  empty.waits.swap(plan.waits);
  empty.swap_ins.swap(plan.swap_ins);
  empty.fetches.swap(plan.fetches);
  empty.entries.clear();
  empty.drops.clear();
  empty.swap_ins.clear();
  empty.fetches.clear();
  empty.waits.clear();
  plan = std::move(empty);
}

PlanBuilder::PlanBuilder(const PlanInputs& inputs, PlanScratch& scratch, StepPlan& plan)
    : options_(inputs.options),
      view_(inputs.view),
      model_(inputs.model),
      places_(inputs.places),
      history_(inputs.history),
      scratch_(scratch),
      plan_(plan),
      market_(inputs.view, inputs.places, inputs.options.preemption, scratch.book),
      swap_(inputs.options, inputs.view, inputs.model, plan),
      beat_(inputs.options, inputs.model, inputs.places),
      without_rows_(time_without_rows(inputs.model)),
      spent_by_lane_(inputs.places.memory),
      prompts_{std::pmr::vector<Prompt>(inputs.places.memory), std::pmr::vector<Prompt>(inputs.places.memory)} {
  clear_plan(plan_);
  scratch_.book.open(options_, view_, places_, history_.minimum_share.owed());
}

// Tier by tier: decode rows, admission, prefill. Batch decode rows go before realtime's prefill only as far as they
// hardly lengthen the step, or fill the batch tier's share of it.
void PlanBuilder::build(StepId id, ModelIndex model) {
  plan_.id = id;
  plan_.model = model;
  choose_budget();
  look_at_batch();
  ReserveReturn reserves({options_, view_, places_, market_, scratch_.book, beat_});
  const std::uint32_t reclaimed = reserves.take_back_seats();
  reserves.take_back_blocks(reclaimed);
  add_decode_rows(Tier::kRealtime, Duration::max());
  entrance_.emplace(options_, view_, places_, history_.lengths,
                    AdmissionTools{market_, scratch_.book, scratch_.walk, beat_, swap_});
  entrance_->add_seats(reclaimed);
  entrance_->limit_running(history_.most_running);
  collect_prompts(Tier::kRealtime);
  const bool realtime_prefills = !prompts_of(Tier::kRealtime).empty();
  add_decode_rows(Tier::kBatch, realtime_prefills ? limit_beside_prompts() : planned_limit_);
  grant_prefill(Tier::kRealtime, planned_limit_ - left_aside());
  const Duration for_batch = limit_of_batch();
  if (realtime_prefills) add_decode_rows(Tier::kBatch, for_batch);
  collect_prompts(Tier::kBatch);
  grant_prefill(Tier::kBatch, for_batch);
  insist_on_prefill();
  insist_on_batch();
  if (options_.padding) pad_ended_rows();
  count_copies();
  swap_.name_fetches(places_);
  plan_.predicted = model_.predict(plan_.features);
  plan_.beat_overrun = plan_.features.decode_rows > 0 && plan_.predicted > plan_.budget;
  const bool nothing_goes_on = plan_.empty() && places_.running.empty() && !entrance_->waits_for_arena();
  if (nothing_goes_on && entrance_->short_of_blocks()) unserviceable_ = entrance_->first_in_line();
}

// What the batch tier could do in this step, and what is set aside for it.
void PlanBuilder::look_at_batch() {
  const TierQueues& queues = places_.of(Tier::kBatch);
  const auto& lanes = queues.starting.lanes();
  const bool runs = std::any_of(places_.running.begin(), places_.running.end(),
                                [](const ScheduledSequence& s) { return s.facts.tier == Tier::kBatch; });
  const bool waits = !queues.resuming.empty() || std::any_of(lanes.begin(), lanes.end(), [](const ServiceLane& lane) {
    return !lane.arrivals.empty();
  });
  batch_step_.batch_works = runs || waits;
  if (!batch_step_.batch_works || options_.join == JoinRule::kWhenEmpty) return;
  // What its classes may not use would be set aside for nobody.
  batch_step_.share = std::min(set_aside_for(batch_share(options_, places_)), batch_ceiling(options_, places_));
  // Who only waits can do nothing with it unless a seat is free.
  if (runs || places_.running.size() < options_.max_sequences)
    set_aside_ = from_seconds(to_seconds(planned_limit_) * batch_step_.share);
}

Duration PlanBuilder::left_aside() const {
  return std::max(Duration::zero(), set_aside_ - added_[index_of(Tier::kBatch)]);
}

// What entries added to the step's time, by tier and by class. What a step takes beside its rows is no tier's: it would
// be that of whoever happens to come first.
void PlanBuilder::note_added(const ScheduledSequence& s, Duration before) {
  const Duration after = model_.predict(plan_.features);
  const Duration added = std::max(Duration::zero(), after - std::max(before, without_rows_));
  added_[index_of(s.facts.tier)] += added;
  spent(s.lane) += added;
}

Duration PlanBuilder::time_so_far() const {
  return std::max(model_.predict(plan_.features), without_rows_);
}

Duration& PlanBuilder::spent(std::size_t lane) {
  if (spent_by_lane_.size() <= lane) spent_by_lane_.resize(lane + 1, Duration::zero());
  return spent_by_lane_[lane];
}

// How much longer entries of the class may make the step.
Duration PlanBuilder::left_to(std::size_t lane, Tier tier) {
  const ClassIndex index = lane == 0 ? kNoClass : ClassIndex(static_cast<std::uint32_t>(lane - 1));
  const double ceiling = limits_of(options_.classes, index, tier).ceiling.step_time;
  if (ceiling >= 1.0) return Duration::max();
  return from_seconds(to_seconds(planned_limit_) * ceiling) - spent(lane);
}

double PlanBuilder::batch_part() const {
  const double batch = to_seconds(added_[index_of(Tier::kBatch)]);
  const double all = batch + to_seconds(added_[index_of(Tier::kRealtime)]);
  return all > 0.0 ? batch / all : 0.0;
}

BatchStep PlanBuilder::batch_step() {
  BatchStep step = batch_step_;
  step.part = batch_part();
  step.wants_more = step.batch_works && step.part < step.share && batch_wants_more();
  return step;
}

// Work of the batch tier that could run has less of the step than it could use, and the time ceiling of its class would
// let it have another row.
bool PlanBuilder::batch_wants_more() {
  const Duration row = model_.predict(with_rows(plan_.features, 0, 1)) - model_.predict(plan_.features);
  const auto may_have_more = [&](std::size_t lane) { return left_to(lane, Tier::kBatch) > row; };
  const auto& kept_out = entrance_->lanes_kept_out(Tier::kBatch);
  const auto& prompts = prompts_of(Tier::kBatch);
  return std::any_of(kept_out.begin(), kept_out.end(), may_have_more) ||
         std::any_of(prompts.begin(), prompts.end(),
                     [&](const Prompt& prompt) {
                       const bool is_whole = prompt.first_position + prompt.granted == prompt.sequence->known;
                       return !is_whole && may_have_more(prompt.sequence->lane);
                     }) ||
         std::any_of(places_.running.begin(), places_.running.end(), [&](const ScheduledSequence& s) {
           return s.facts.tier == Tier::kBatch && s.is_decode_row() && !market_.is_settled(s) && may_have_more(s.lane);
         });
}

Duration PlanBuilder::less_margin(Duration budget) const {
  return from_seconds(to_seconds(budget) * (1.0 - options_.planning_margin));
}

void PlanBuilder::choose_budget() {
  std::optional<Duration> tightest;
  for (const ScheduledSequence& s : places_.running) {
    if (s.facts.tier != Tier::kRealtime || !s.is_decode_row()) continue;
    tightest = tightest ? std::min(*tightest, s.facts.itl_target) : s.facts.itl_target;
  }
  plan_.budget = step_budget(options_, tightest, without_rows_);
  planned_limit_ = less_margin(plan_.budget);
  swap_.set_budget(plan_.budget);
  if (const std::optional<std::uint32_t> pages = swap_.pages_out_at_once()) market_.limit_copies(*pages);
}

// Who gives up blocks so far, in what way, and what all the copying adds to the step.
void PlanBuilder::count_copies() {
  plan_.drops.clear();
  market_.add_drops(plan_.drops);
  plan_.features.swapped_blocks = swap_.choose_kinds(market_) + swap_.blocks_in();
}

// How long a step may get for batch decode rows while realtime prompts wait for what they leave.
Duration PlanBuilder::limit_beside_prompts() const {
  constexpr double kMostLengthening = 0.1;
  const Duration without = model_.predict(with_rows(plan_.features, 0, 1));
  const Duration lengthening = from_seconds(to_seconds(without) * kMostLengthening);
  return std::min(planned_limit_, without + std::max(lengthening, left_aside()));
}

// How long batch work may make the step. Who is to get a first token waits for its end, as who decodes does: the
// targets of realtime prompts count too.
Duration PlanBuilder::limit_of_batch() {
  std::optional<Duration> tightest;
  for (const Prompt& prompt : prompts_of(Tier::kRealtime)) {
    const Duration target = prompt.sequence->facts.itl_target;
    tightest = tightest ? std::min(*tightest, target) : target;
  }
  if (!tightest) return planned_limit_;
  return std::min(planned_limit_, less_margin(step_budget(options_, tightest, without_rows_)));
}

// Rows of the tier that are not in the plan yet, until the step would take longer than `limit`.
void PlanBuilder::add_decode_rows(Tier tier, Duration limit, std::uint32_t most) {
  std::pmr::vector<const ScheduledSequence*> rows(places_.memory);
  rows.reserve(places_.running.size());
  for (const ScheduledSequence& s : places_.running) {
    if (s.facts.tier == tier && s.is_decode_row() && !market_.is_settled(s)) rows.push_back(&s);
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
    if (market_.is_settled(*s)) continue;  // it gave its blocks to one before it
    if (plan_.features.tokens > 0 && model_.predict(with_rows(plan_.features, s->computed, 1)) > limit) break;
    if (plan_.features.tokens >= options_.max_step_tokens || most == 0) break;
    if (tier == Tier::kBatch && left_to(s->lane, tier) <= Duration::zero()) continue;
    if (add_decode_row(*s)) {
      --most;
    } else {
      market_.stand_back(*s);
    }
  }
}

bool PlanBuilder::add_decode_row(const ScheduledSequence& s) {
  const std::uint32_t cover = std::max(s.cover, s.computed + 1);
  const GroupCounts need = view_.geometry.blocks_for(cover) - view_.geometry.blocks_for(s.cover);
  const bool may_preempt = options_.preemption != PreemptionRule::kNone;
  if (!need.none() && !(may_preempt ? market_.take_for_running(s, need) : market_.take_free(need))) return false;
  market_.pin(s);
  const Duration before = model_.predict(plan_.features);
  plan_.features = with_rows(plan_.features, s.computed, 1);
  ++plan_.features.decode_rows;
  note_added(s, before);
  const bool samples = s.known < s.facts.limit_tokens;
  plan_.features.logits_rows += (samples || s.facts.scores_prompt) ? 1 : 0;
  plan_.entries.push_back({s.facts.id, EntryKind::kGenerate, s.computed, 1, samples, false, cover});
  return true;
}

// Prompts of the tier that are under way, and those that can be admitted.
void PlanBuilder::collect_prompts(Tier tier) {
  for (const ScheduledSequence& s : places_.running) {
    if (s.facts.tier != tier || s.remaining() < 2 || market_.is_settled(s)) continue;
    prompts_of(tier).push_back({&s, s.computed, s.cover, false});
  }
  entrance_->let_in(tier, prompts_of(tier));
  count_copies();
}

void PlanBuilder::grant_prefill(Tier tier, Duration limit) {
  if (prompts_of(tier).empty()) return;
  if (options_.prefill == PrefillRule::kWhole) return grant_whole_prompts(tier);
  // What is reserved for a class first, then all together.
  for (std::size_t i = 0; i < options_.classes.size(); ++i) {
    const ClassLimits& limits = options_.classes[i].limits;
    if (limits.tier != tier || limits.reserved.step_time <= 0.0) continue;
    const Duration reserved = from_seconds(to_seconds(planned_limit_) * limits.reserved.step_time);
    const std::size_t lane = lane_of(ClassIndex(static_cast<std::uint32_t>(i)));
    const Duration most = time_so_far() + std::max(Duration::zero(), reserved - spent(lane));
    grant_chunks(tier, {std::min(limit, most), options_.max_step_tokens, lane});
  }
  grant_chunks(tier, {limit, options_.max_step_tokens, {}});
  if (std::any_of(prompts_of(tier).begin(), prompts_of(tier).end(),
                  [](const Prompt& prompt) { return prompt.admits && prompt.granted == 0; }))
    entrance_->note_left_out(tier);
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
  for (const Tier tier : kTiers) grant_chunks(tier, {Duration::max(), most_rows, {}});
}

// Where realtime rows alone fill the steps, or leave less than its share, the batch tier gets its part on top as long
// as it is behind: rows that are decoded, then prompts; the last row is not cut off.
void PlanBuilder::insist_on_batch() {
  const bool is_alone = added_[index_of(Tier::kRealtime)] <= Duration::zero();
  const auto has_its_share = [&] { return batch_part() >= batch_step_.share; };
  if (is_alone || !history_.minimum_share.is_behind() || has_its_share()) return;
  add_decode_rows(Tier::kBatch, model_.predict(plan_.features) + missing_part());
  if (!has_its_share()) add_decode_rows(Tier::kBatch, Duration::max(), 1);
  if (has_its_share() || options_.prefill == PrefillRule::kWhole) return;
  grant_chunks(Tier::kBatch, {model_.predict(plan_.features) + missing_part(), options_.max_step_tokens, {}});
  if (has_its_share()) return;
  const bool has_part = added_[index_of(Tier::kBatch)] > Duration::zero();
  const std::uint32_t more = has_part ? 1 : view_.geometry.alignment;
  grant_chunks(Tier::kBatch, {Duration::max(), plan_.features.tokens + more, {}});
}

// Time that the batch tier's entries lack to its share of the step, with what they would add themselves.
Duration PlanBuilder::missing_part() const {
  const double share = std::min(batch_step_.share, kMostOfStep);
  const double realtime = to_seconds(added_[index_of(Tier::kRealtime)]);
  const double batch = to_seconds(added_[index_of(Tier::kBatch)]);
  return from_seconds(std::max(0.0, realtime * share / (1.0 - share) - batch));
}

// First come, first served, each in one piece, as many as the rows of a step allow; padded, all as wide as the widest.
void PlanBuilder::grant_whole_prompts(Tier tier) {
  const std::uint32_t room = options_.max_step_tokens - std::min(options_.max_step_tokens, plan_.features.tokens);
  std::uint32_t granted = 0;
  std::uint32_t rows = 0;
  std::uint32_t widest = 0;
  for (Prompt& prompt : prompts_of(tier)) {
    const std::uint32_t wanted = prompt.sequence->known - prompt.first_position;
    const std::uint32_t wide = std::max(widest, wanted);
    const std::uint64_t in_all = options_.padding ? std::uint64_t{granted + 1} * wide : std::uint64_t{rows} + wanted;
    if (in_all > room && (granted > 0 || room == 0)) {
      entrance_->note_left_out(tier);
      break;
    }
    const std::uint32_t tokens = std::min(wanted, room);
    const Duration before = model_.predict(plan_.features);
    plan_.features = with_rows(plan_.features, prompt.first_position, tokens);
    note_added(*prompt.sequence, before);
    add_prompt(prompt, tokens);
    ++granted;
    rows += tokens;
    widest = std::max(widest, tokens);
  }
  if (options_.padding) pad(granted * widest - rows);
}

PromptCandidate PlanBuilder::candidate(const Prompt& prompt) {
  const ScheduledSequence& s = *prompt.sequence;
  const std::uint32_t first = prompt.first_position + prompt.granted;
  PromptCandidate candidate{s.order, first, s.known - first};
  if (const Duration left = left_to(s.lane, s.facts.tier); left != Duration::max() && candidate.remaining > 0) {
    const Duration limit = time_so_far() + std::max(Duration::zero(), left);
    const std::uint32_t rows = most_rows(model_, plan_.features, first, candidate.remaining, limit);
    // A class that had nothing of this step goes on by a row at least.
    candidate.remaining = spent(s.lane) == Duration::zero() ? std::max(1U, rows) : rows;
  }
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

// Pieces of the tier's prompts (of one lane, where `room` names one) until the step would take longer or have more rows
// than there is room for.
void PlanBuilder::grant_chunks(Tier tier, const ChunkRoom& room) {
  std::pmr::vector<Prompt>& prompts = prompts_of(tier);
  const std::uint32_t rows = std::min(room.rows, options_.max_step_tokens);
  const PrefillRoom prefill{room.limit, rows - std::min(rows, plan_.features.tokens), options_.newcomer_share};
  std::vector<PromptCandidate>& candidates = scratch_.candidates;
  std::vector<Prompt*>& chosen = scratch_.chosen;
  candidates.clear();
  chosen.clear();
  for (Prompt& prompt : prompts) {
    if (room.lane && prompt.sequence->lane != *room.lane) continue;
    const PromptCandidate wanted = candidate(prompt);
    if (wanted.remaining == 0) {
      if (prompt.granted == 0) entrance_->note_ceiling(tier, prompt.sequence->lane);
      continue;
    }
    candidates.push_back(wanted);
    chosen.push_back(&prompt);
  }
  StepFeatures features = plan_.features;
  const auto granted = split_prefill(candidates, prefill, model_, features, places_.memory);
  for (std::size_t i = 0; i < granted.size(); ++i) {
    // Others of its class may have had something since.
    const std::uint32_t tokens = i == 0 ? granted[i] : std::min(granted[i], candidate(*chosen[i]).remaining);
    if (tokens == 0) continue;
    const Duration before = model_.predict(plan_.features);
    plan_.features = with_rows(plan_.features, candidates[i].first_position, tokens);
    note_added(*chosen[i]->sequence, before);
    add_prompt(*chosen[i], tokens);
  }
}

// A prompt that has an entry already gets a longer one.
void PlanBuilder::add_prompt(Prompt& prompt, std::uint32_t tokens) {
  const ScheduledSequence& s = *prompt.sequence;
  const bool has_entry = prompt.granted > 0;
  prompt.granted += tokens;
  const std::uint32_t end = prompt.first_position + prompt.granted;
  const bool samples = end == s.known && s.known < s.facts.limit_tokens;
  prefills_ = true;
  plan_.features.logits_rows += s.facts.scores_prompt ? tokens : (samples ? 1 : 0);
  const PlanEntry entry{s.facts.id,
                        EntryKind::kGenerate,
                        prompt.first_position,
                        prompt.granted,
                        samples,
                        prompt.admits,
                        std::max(prompt.cover_tokens, end)};
  if (!has_entry) {
    plan_.entries.push_back(entry);
    return;
  }
  *std::find_if(plan_.entries.rbegin(), plan_.entries.rend(),
                [&](const PlanEntry& e) { return e.sequence == s.facts.id; }) = entry;
}

}  // namespace takt
