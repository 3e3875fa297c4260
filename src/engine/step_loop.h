// One turn of the engine: commands, plan, reserve, execute, stage, commit, publish. Runs on the thread that owns the
// serving state.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/clock.h"
#include "core/step_time_model.h"
#include "engine/block_moves.h"
#include "engine/engine.h"
#include "engine/event_log.h"
#include "engine/lifecycle.h"
#include "engine/mailbox.h"
#include "engine/status_board.h"
#include "engine/status_writer.h"
#include "engine/step_binding.h"
#include "engine/swap_traffic.h"
#include "exec/executor.h"
#include "kv/kv_cache.h"
#include "sched/scheduler.h"
#include "sched/tape.h"

namespace takt {

struct StepLoopParts {
  Executor& executor;
  const Clock& clock;
  KvCache& kv;
  StepTimeModel& step_time;
  Door& door;
  StatusBoard& board;
  std::vector<EventSink*> sinks;
  SchedulerTape* tape = nullptr;
  std::unique_ptr<SwapStore> swap;
};

class StepLoop {
 public:
  StepLoop(StepLoopParts parts, const EngineOptions& options, const SchedulerOptions& effective);

  // Applies the commands, then runs at most one step. Never throws. A command for which there is no memory stays, with
  // those behind it, for the next turn; a request for which there is none is over, with the error.
  StepOutcome turn(std::vector<Command>& commands) noexcept;

  bool stopped() const { return stopped_; }                           // a StopCommand came
  const std::optional<std::string>& fatal() const { return fatal_; }  // why the executor is gone
  // When a turn is due although no command comes: the next expiry, or the end of the drain period.
  std::optional<TimePoint> next_deadline() const;

 private:
  struct Staged {
    SequenceRecord* sequence = nullptr;
    std::uint32_t computed = 0;
    std::optional<SampledToken> token;
    std::vector<PromptLogprob> prompt_logprobs;
    std::optional<FinishReason> finish;
    Error error;
    bool commits = true;  // false: the entry failed
    WaitTimes waited{};   // up to the plan, of an entry that admits
  };

  struct StepSpan {
    TimePoint planned;
    TimePoint finished;
    Duration measured;
  };

  void apply_all(std::vector<Command>& commands, TimePoint now) noexcept;
  bool apply_or_refuse(Command& command, TimePoint now) noexcept;
  void apply(Command& command, TimePoint now);
  void reconfigure(const EngineOptions& options, TimePoint now);
  StepOutcome run_step(TimePoint now);
  StepOutcome carry_out(Reservation& reservation, TimePoint now);
  void note_committed(StepPlan&& plan, const StepSpan& span);
  StepOutcome nothing_planned(TimePoint now);
  void look_at_memory(TimePoint now);
  void make_plan(TimePoint now);
  void keep_one_suspect(StepPlan& plan);
  bool open_sequences(const StepPlan& plan, TimePoint now);
  Result<Reservation> reserve(const StepPlan& plan);
  Result<StepResult> execute(const StepPlan& plan, const Reservation& reservation);
  Status stage(const StepPlan& plan, StepResult& result);
  void stage_sample(Staged& staged, EntryResult& result) const;
  void commit(const StepPlan& plan, Reservation& reservation, const StepSpan& span);
  void publish_entry(const PlanEntry& entry, Staged& staged, const StepSpan& span);
  StepOutcome step_broke(const Error& error, TimePoint now);
  void end_with_fatal(const std::string& reason, TimePoint now);
  void note_idle(TimePoint now);
  void end_idle(TimePoint now);
  void check_invariants(TimePoint now);

  StepLoopParts parts_;
  const ModelIndex model_;
  std::uint32_t step_retries_;
  Scheduler scheduler_;
  EventLog events_;
  SwapTraffic swap_;
  Lifecycle lifecycle_;
  BlockMoves moves_;
  StatusWriter status_;
  StepTally tally_;

  // Kept from step to step for their memory: once they have seen as much work as there is, a step allocates nothing.
  CapacityView view_;
  std::vector<ReserveRequest> requests_;
  StepBinding binding_;
  std::vector<Staged> staged_;
  std::vector<CommittedTokens> tokens_;
  std::vector<SequenceProgress> progress_;

  StepPlan plan_;              // of the turn under way
  bool plan_is_whole_ = true;  // false: entries were left out to find the one that fails
  // Sequences of a step that failed too often: each runs alone until it has shown whether it is the one.
  std::unordered_set<SequenceId> suspects_;
  std::uint32_t failed_plans_ = 0;  // in a row, before there was a plan to blame
  std::optional<TimePoint> drain_deadline_;
  std::optional<TimePoint> idle_since_;
  WaitReason idle_reason_ = WaitReason::kNone;
  std::optional<std::string> fatal_;
  bool stopped_ = false;
};

}  // namespace takt
