// A scheduler with everything around it that it needs and nothing more: blocks are counted, steps take the time that
// the model says, sequences end at their limit. Every plan is checked against what no plan may do.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sched/scheduler.h"
#include "support/plain_step_time.h"

namespace takt::testing {

struct WorldSequence {
  SequenceFacts facts;
  TimePoint added;
  std::optional<TimePoint> started;
  std::optional<TimePoint> first_token;
  std::vector<TimePoint> tokens;
  std::uint32_t known = 0;
  std::uint32_t computed = 0;
  std::uint32_t cover = 0;
  bool runs = false;
  std::uint32_t cached = 0;     // of its prompt, found in others' blocks when it starts with nothing
  std::uint32_t shared = 0;     // of its cover, in such blocks
  std::uint32_t overtaken = 0;  // younger ones of its tier that started before it
  std::uint32_t preemptions_by_own_tier = 0;
};

class SchedulerWorld {
 public:
  explicit SchedulerWorld(const SchedulerOptions& options, std::uint32_t blocks = 1000)
      : scheduler(options, ModelIndex(0)), options_(options) {
    view_.geometry.block_tokens[0] = 16;
    view_.geometry.alignment = 16;
    view_.total.blocks[0] = blocks;
  }

  SequenceId add(SequenceFacts facts) {
    facts.id = SequenceId(++last_id_);
    if (facts.itl_target == Duration::zero()) facts.itl_target = std::chrono::milliseconds(100);
    WorldSequence& s = alive[facts.id];
    s.facts = facts;
    s.added = now;
    s.known = facts.prompt_tokens;
    scheduler.add(facts, now);
    return facts.id;
  }
  SequenceId add(std::uint32_t prompt, std::uint32_t output, std::uint64_t tenant = 0, Tier tier = Tier::kRealtime) {
    SequenceFacts facts;
    facts.tier = tier;
    facts.tenant = TenantId(tenant);
    facts.prompt_tokens = prompt;
    facts.limit_tokens = prompt + output;
    return add(facts);
  }
  void remove(SequenceId id) {
    scheduler.remove(id, now);
    alive.erase(id);
  }

  std::uint32_t blocks_used() const {
    std::uint32_t used = 0;
    for (const auto& [id, s] : alive) used += (s.cover + 15) / 16 - (s.shared + 15) / 16;
    return used;
  }

  CapacityView view() {
    view_.prefixes.clear();
    view_.tails.clear();
    view_.free.blocks[0] = view_.total.blocks[0] - blocks_used();
    for (const SequenceId id : scheduler.queue_heads(now)) view_.prefixes.push_back({id, alive.at(id).cached, {}});
    for (const SequenceId id : scheduler.holders(view_)) view_.tails.push_back({id, alive.at(id).shared});
    return view_;
  }

  // One step; ends those that reach their limit. The first broken rule is kept in `broken`.
  const StepPlan& step() {
    last = scheduler.plan(now, view(), model);
    planned_at = now;
    scheduler.apply_drops(last, now);
    for (const PlanDrop& drop : last.drops) apply(drop);
    std::vector<SequenceProgress> progress;
    for (const PlanEntry& e : last.entries) {
      WorldSequence& s = alive.at(e.sequence);
      check(e, s);
      progress.push_back({e.sequence, s.known + (e.samples ? 1 : 0), e.first_position + e.token_count});
    }
    now += last.entries.empty() ? Duration(std::chrono::milliseconds(1)) : last.predicted;
    scheduler.commit(last, progress, now);
    for (const PlanEntry& e : last.entries) note(e);
    check_plan();
    end_finished();
    return last;
  }

  std::uint32_t running() const {
    return static_cast<std::uint32_t>(
        std::count_if(alive.begin(), alive.end(), [](const auto& entry) { return entry.second.runs; }));
  }
  std::uint32_t running(Tier tier) const {
    return static_cast<std::uint32_t>(std::count_if(alive.begin(), alive.end(), [&](const auto& entry) {
      return entry.second.runs && entry.second.facts.tier == tier;
    }));
  }

  Scheduler scheduler;
  PlainStepTime model;
  TimePoint now{std::chrono::seconds(1)};
  TimePoint planned_at{};
  std::map<SequenceId, WorldSequence> alive;
  StepPlan last;
  std::string broken;
  std::function<void(const WorldSequence&)> on_end;

 private:
  void fail(SequenceId id, const std::string& what) {
    if (broken.empty()) broken = "sequence " + std::to_string(id.value) + " " + what;
  }

  void apply(const PlanDrop& drop) {
    const auto it = alive.find(drop.sequence);
    if (it == alive.end()) return fail(drop.sequence, "is dropped and does not exist");
    WorldSequence& s = it->second;
    if (s.runs && drop.in_favour_of == s.facts.tier) ++s.preemptions_by_own_tier;
    s.runs = false;
    s.cover = std::min(s.cover, drop.keep_tokens);
    s.computed = std::min(s.computed, drop.keep_tokens);
    s.shared = std::min(s.shared, drop.keep_tokens);
  }

  void check(const PlanEntry& e, const WorldSequence& s) {
    if (e.admits == s.runs) fail(e.sequence, "is admitted while it runs, or runs without being admitted");
    const std::uint32_t from = s.cover == 0 && !s.runs ? s.cached : s.computed;
    if (e.first_position != from) fail(e.sequence, "starts at another position than it has computed");
    if (e.token_count == 0 || e.first_position + e.token_count > s.known) fail(e.sequence, "has the wrong tokens");
    if (e.cover_tokens < e.first_position + e.token_count) fail(e.sequence, "is not covered");
    const bool last_known = e.first_position + e.token_count == s.known && s.known < s.facts.limit_tokens;
    if (e.samples != last_known) fail(e.sequence, "samples where it should not, or does not");
  }

  void note(const PlanEntry& e) {
    WorldSequence& s = alive.at(e.sequence);
    if (e.admits && !s.started) {
      s.started = planned_at;
      for (auto& [id, other] : alive) {
        if (id < e.sequence && !other.started && other.facts.tier == s.facts.tier && !other.facts.leader)
          ++other.overtaken;
      }
    }
    if (!s.runs && s.cover == 0) s.shared = e.first_position;
    s.runs = true;
    s.computed = e.first_position + e.token_count;
    s.cover = std::max(s.cover, e.cover_tokens);
    if (!e.samples) return;
    ++s.known;
    s.tokens.push_back(now);
    if (!s.first_token) s.first_token = now;
  }

  void check_plan() {
    std::set<SequenceId> seen;
    for (const PlanEntry& e : last.entries) {
      if (!seen.insert(e.sequence).second) fail(e.sequence, "is in the step twice");
    }
    if (broken.empty() && blocks_used() > view_.total.blocks[0]) broken = "more blocks are used than there are";
    if (broken.empty() && running() > options_.max_sequences) broken = "more sequences run than there are seats";
    if (broken.empty() && last.features.tokens > options_.max_step_tokens) broken = "the step has too many rows";
    check_waits();
  }

  // Whoever is not in the plan is counted in a queue that has a reason.
  void check_waits() {
    std::size_t waiting = 0;
    for (const QueueWait& wait : last.waits) {
      waiting += wait.requests;
      if (broken.empty() && wait.reason == WaitReason::kNone) broken = "a queue got nothing for no reason";
    }
    std::size_t without = 0;
    for (const auto& [id, s] : alive) without += s.runs ? 0 : 1;
    // What this plan put out of its seat shows from the next one on.
    std::size_t put_out = 0;
    for (const PlanDrop& drop : last.drops) put_out += alive.contains(drop.sequence) ? 1 : 0;
    if (broken.empty() && (waiting > without || waiting + put_out < without))
      broken = std::to_string(without) + " wait, " + std::to_string(waiting) + " are named";
  }

  void end_finished() {
    std::vector<SequenceId> over;
    for (const auto& [id, s] : alive) {
      if (s.known >= s.facts.limit_tokens) over.push_back(id);
    }
    for (const SequenceId id : over) {
      if (on_end) on_end(alive.at(id));
      scheduler.note_length(id);
      remove(id);
    }
  }

  SchedulerOptions options_;
  CapacityView view_;
  std::uint64_t last_id_ = 0;
};

}  // namespace takt::testing
