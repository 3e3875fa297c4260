#include "plan_replay.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "costmodel/linear_model.h"
#include "sched/scheduler.h"

namespace takt::app {
namespace {

std::string entry_text(const PlanEntry& entry) {
  return "sequence " + std::to_string(entry.sequence.value) + " from " + std::to_string(entry.first_position) + ", " +
         std::to_string(entry.token_count) + " tokens, blocks to " + std::to_string(entry.cover_tokens) +
         (entry.samples ? ", samples" : "") + (entry.admits ? ", admitted" : "");
}

std::string drop_text(const PlanDrop& drop) {
  return "sequence " + std::to_string(drop.sequence.value) + " keeps " + std::to_string(drop.keep_tokens) +
         " tokens, for " + to_string(drop.in_favour_of) + (drop.kind == PreemptionKind::kSwap ? ", swapped" : "");
}

std::string swap_in_text(const PlanSwapIn& swap_in) {
  return "sequence " + std::to_string(swap_in.sequence.value) + " back to " + std::to_string(swap_in.computed) +
         ", blocks to " + std::to_string(swap_in.cover_tokens);
}

std::string wait_text(const QueueWait& wait) {
  return std::to_string(wait.requests) + " of " + to_string(wait.tier) + " in queue " +
         std::to_string(static_cast<int>(wait.queue)) + " of class " + std::to_string(wait.service_class.value) +
         " wait for " + to_string(wait.reason);
}

template <typename Value>
std::optional<std::string> compare(const char* name, const Value& logged, const Value& replayed) {
  if (logged == replayed) return std::nullopt;
  return std::string(name) + " " + std::to_string(logged) + " in the log, " + std::to_string(replayed) + " replayed";
}

template <typename List, typename ToText>
std::optional<std::string> compare_lists(const char* name, const List& logged, const List& replayed, ToText to_text) {
  for (std::size_t i = 0; i < std::max(logged.size(), replayed.size()); ++i) {
    const std::string was = i < logged.size() ? to_text(logged[i]) : "none";
    const std::string is = i < replayed.size() ? to_text(replayed[i]) : "none";
    if (was != is)
      return std::string(name) + " " + std::to_string(i + 1) + ": " + was + " in the log, " + is + " replayed";
  }
  return std::nullopt;
}

std::optional<std::string> difference(const StepPlan& logged, const StepPlan& replayed) {
  if (auto d = compare_lists("entry", logged.entries, replayed.entries, entry_text)) return d;
  if (auto d = compare_lists("drop", logged.drops, replayed.drops, drop_text)) return d;
  if (auto d = compare_lists("swap-in", logged.swap_ins, replayed.swap_ins, swap_in_text)) return d;
  const auto name_of = [](SequenceId sequence) { return std::to_string(sequence.value); };
  if (auto d = compare_lists("fetch", logged.fetches, replayed.fetches, name_of)) return d;
  if (auto d = compare_lists("wait", logged.waits, replayed.waits, wait_text)) return d;
  if (auto d = compare("tokens", logged.features.tokens, replayed.features.tokens)) return d;
  if (auto d = compare("padding rows", logged.features.padding_rows, replayed.features.padding_rows)) return d;
  if (auto d = compare("swapped blocks", logged.features.swapped_blocks, replayed.features.swapped_blocks)) return d;
  if (auto d = compare("predicted nanoseconds", logged.predicted.count(), replayed.predicted.count())) return d;
  if (auto d = compare("budget nanoseconds", logged.budget.count(), replayed.budget.count())) return d;
  return compare("overrun", int{logged.beat_overrun}, int{replayed.beat_overrun});
}

// One engine's scheduler and step-time model, as they were when it started.
class ReplayedEngine {
 public:
  ReplayedEngine(const metrics::EngineStarted& started, ModelIndex model)
      : memory_(started.memory),
        scheduler_(started.options, model),
        step_time_({started.terms[0], started.terms[1], started.terms[2], started.terms[3]}) {}

  void on(const metrics::SequenceAdded& added, TimePoint at) { scheduler_.add(added.facts, at); }

  void on(const metrics::SequenceRemoved& removed, TimePoint at) {
    if (removed.natural_end) scheduler_.note_length(removed.sequence);
    scheduler_.remove(removed.sequence, at);
  }

  void on(const metrics::OptionsChanged& changed, TimePoint at) { scheduler_.reconfigure(changed.options, at); }
  void on(const metrics::ReserveSet& reserve) { scheduler_.set_reserve(reserve.sequence, reserve.tokens); }
  void on(const metrics::SwappedLost& lost) { scheduler_.lose_swapped(lost.sequence, lost.computed); }

  std::optional<std::string> on(const metrics::StepPlanned& planned, TimePoint at) {
    const CapacityView view = view_of(planned, at);
    plan_ = scheduler_.plan(at, view, step_time_);
    auto differs = difference(planned.plan, plan_);
    if (differs) return "step " + std::to_string(planned.plan.id.value) + ": " + *differs;
    if (!plan_.drops.empty()) scheduler_.apply_drops(plan_, at);
    scheduler_.apply_swap_ins(plan_);
    return std::nullopt;
  }

  void on(const metrics::StepDone& done, TimePoint at) {
    scheduler_.commit(plan_, done.progress, at);
    if (done.observed) step_time_.observe(plan_.features, done.measured);
  }

 private:
  // The log leaves out the heads of queues of which nothing was in the cache.
  CapacityView view_of(const metrics::StepPlanned& planned, TimePoint at) {
    CapacityView view = planned.view;
    view.total = memory_.total;
    view.swap.total_pages = memory_.swap.total_pages;
    std::vector<CachedPrefix> prefixes;
    for (const SequenceId head : scheduler_.queue_heads(at)) {
      const auto found = std::find_if(view.prefixes.begin(), view.prefixes.end(),
                                      [&](const CachedPrefix& prefix) { return prefix.sequence == head; });
      prefixes.push_back(found != view.prefixes.end() ? *found : CachedPrefix{head, 0, {}});
    }
    view.prefixes = std::move(prefixes);
    return view;
  }

  const CapacityView memory_;
  Scheduler scheduler_;
  LinearStepTimeModel step_time_;
  StepPlan plan_;
};

class Replay {
 public:
  // Errors: there is nothing to go on from.
  Status take(const metrics::StepRecord& record) {
    if (std::holds_alternative<metrics::RecordsLost>(record.what))
      return Error::invalid(
          "", "records are missing after " + std::to_string(report_.plans) + " plans: the disk was too slow");
    if (const auto* started = std::get_if<metrics::EngineStarted>(&record.what)) return start(*started, record.model);
    // Said again for those who begin here.
    if (std::holds_alternative<metrics::SequenceLives>(record.what)) return {};
    const auto engine = engines_.find(record.model.value);
    if (engine == engines_.end()) return Error::invalid("", "the log has no start of its engine");
    ReplayedEngine& replayed = *engine->second;
    if (const auto* added = std::get_if<metrics::SequenceAdded>(&record.what)) replayed.on(*added, record.at);
    if (const auto* removed = std::get_if<metrics::SequenceRemoved>(&record.what)) replayed.on(*removed, record.at);
    if (const auto* changed = std::get_if<metrics::OptionsChanged>(&record.what)) replayed.on(*changed, record.at);
    if (const auto* reserve = std::get_if<metrics::ReserveSet>(&record.what)) replayed.on(*reserve);
    if (const auto* lost = std::get_if<metrics::SwappedLost>(&record.what)) replayed.on(*lost);
    if (const auto* planned = std::get_if<metrics::StepPlanned>(&record.what)) {
      report_.difference = replayed.on(*planned, record.at);
      if (!report_.difference) ++report_.plans;
    }
    if (const auto* done = std::get_if<metrics::StepDone>(&record.what)) {
      replayed.on(*done, record.at);
      ++report_.steps;
    }
    return {};
  }

  const ReplayReport& report() const { return report_; }

 private:
  Status start(const metrics::EngineStarted& started, ModelIndex model) {
    if (!started.continued) {
      engines_[model.value] = std::make_unique<ReplayedEngine>(started, model);
    } else if (!engines_.contains(model.value)) {
      return Error::invalid("", "the log does not go back to the server's start: keep more of it");
    }
    return {};
  }

  std::map<std::uint32_t, std::unique_ptr<ReplayedEngine>> engines_;
  ReplayReport report_;
};

}  // namespace

Result<ReplayReport> replay_plans(metrics::StepLogReader& log) {
  Replay replay;
  for (;;) {
    const auto record = log.next();
    if (!record) return record.error();
    if (!record->has_value()) return replay.report();
    if (const Status taken = replay.take(**record); !taken) return taken.error();
    if (replay.report().difference) return replay.report();
  }
}

}  // namespace takt::app
