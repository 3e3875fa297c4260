// The engine: owns all serving state of one model and turns requests into steps, tokens and events.
//
// One thread runs it: its own after start(), or the caller of step(). The other methods may be called from any thread.
// Rules of ownership, order and failure: docs/engine-contract.md.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "core/event.h"
#include "core/step_time_model.h"
#include "core/submitter.h"
#include "engine/options.h"
#include "engine/status.h"
#include "exec/executor.h"
#include "swap/swap_store.h"

namespace takt {

// How one turn of the loop ended.
enum class StepOutcome : std::uint8_t {
  kNoWork,         // nothing to do
  kDeferred,       // work waits, but nothing could be scheduled now
  kUnserviceable,  // a request could never be scheduled and was ended with an error
  kCommitted,
  kRetryable,  // the step failed and left no trace; its work is planned again or, after too many tries, ended with the
               // error
  kFatal,      // the executor is gone: every request ends with an error, nothing runs any more
};
const char* to_string(StepOutcome outcome);

class SchedulerTape;  // sched/tape.h

class Engine final : public Submitter {
 public:
  // Checks the options against the executor, measures it (options.warm_up) and fits the step-time model. `clock`,
  // `sinks` and what they point to outlive the engine. `step_time`: a model of the caller's own instead of the measured
  // one. `tape`: records what is planned; null: nothing does. `swap`: the arena for pages of swap_page_bytes() of the
  // executor's groups; null: none. Errors: kInvalidArgument, field = the option that contradicts another; the
  // executor's own.
  static Result<std::unique_ptr<Engine>> create(std::unique_ptr<Executor> executor, const Clock& clock,
                                                EngineOptions options, std::vector<EventSink*> sinks,
                                                std::unique_ptr<StepTimeModel> step_time = nullptr,
                                                SchedulerTape* tape = nullptr,
                                                std::unique_ptr<SwapStore> swap = nullptr);
  ~Engine() override;  // stop()
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // The door. Errors: see core/submitter.h.
  Status check_room(const Place& place, std::uint64_t estimated_prompt_tokens, std::uint32_t choices) const override;
  Status submit(EngineRequest request) override;
  void cancel(RequestId request, CancelCause cause) override;
  void finish_choice(RequestId request, std::uint32_t choice) override;

  // Would these options do, as a change of what is in force? Errors: those of create() about options; an option that
  // cannot change while the engine lives (kUnsupported); seats or rows raised above what the executor has.
  Status check(const EngineOptions& options) const;
  // The scheduler's options, queues, retries and stall time are these from the next step on; what is there already goes
  // on. They have passed check(), and nothing else was changed since. One caller at a time.
  void reconfigure(const EngineOptions& options);

  // Starts the engine thread. Once.
  void start();
  // Ends what is still there with an error (kShutdown) and the engine thread. What is with the executor is waited for.
  void stop();
  // One turn on the caller's thread; only while no engine thread runs.
  StepOutcome step();

  // Not ready from now on, nothing new is accepted; what was accepted goes on until the deadline, then ends with an
  // error.
  void begin_drain(TimePoint deadline);
  // Nothing accepted is left.
  bool idle() const;

  EngineStatus status() const;
  StallReport stall_report() const;

  const ExecutorCapabilities& capabilities() const;
  // Longest request (prompt and output) that can be served: context and pool both count.
  std::uint32_t max_request_tokens() const;

 private:
  class Impl;
  explicit Engine(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace takt
