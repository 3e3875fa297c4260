#include "engine/engine.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "base/message_number.h"
#include "base/thread_name.h"
#include "costmodel/linear_model.h"
#include "engine/door.h"
#include "engine/mailbox.h"
#include "engine/status_board.h"
#include "engine/step_loop.h"
#include "engine/warm_up.h"
#include "kv/kv_cache.h"
#include "sched/admission.h"
#include "sched/numbers_of_options.h"

namespace takt {

namespace {

// Work waits and nothing could be planned: look again this soon even without a command.
constexpr Duration kDeferredPause = std::chrono::milliseconds(2);

// Keeps the first number that is out of its range.
class RangeCheck {
 public:
  void operator()(const char* key, double value, double least, double most) {
    if (!first_.ok() || (value >= least && value <= most)) return;
    first_ = Error::invalid(
        key, std::string(key) + " must be between " + message_number(least) + " and " + message_number(most) + ".");
  }
  void operator()(const char* key, Duration value, Duration unit, std::int64_t least, std::int64_t most) {
    (*this)(key, to_seconds(value) / to_seconds(unit), static_cast<double>(least), static_cast<double>(most));
  }
  const Status& first() const { return first_; }

 private:
  Status first_;
};

// What the options come to with this executor.
Result<SchedulerOptions> effective_scheduler_options(SchedulerOptions options, const ExecutorCapabilities& caps) {
  RangeCheck ranges;
  visit_numbers(std::as_const(options), ranges);
  if (!ranges.first().ok()) return ranges.first().error();
  if (options.order != OrderRule::kFcfs && options.join == JoinRule::kWhenEmpty) {
    return Error::invalid("scheduler.order", "A closed batch takes who came first: scheduler.order must be fcfs.");
  }
  if (options.step_target > options.max_step) {
    return Error::invalid("scheduler.step_target_ms",
                          "scheduler.step_target_ms must not exceed scheduler.max_step_ms.");
  }
  options.max_step_tokens = std::min(options.max_step_tokens, caps.max_step_tokens);
  // Prefill keeps at least one row of every step.
  const std::uint32_t rows_for_sequences = std::max(1U, options.max_step_tokens - 1);
  options.max_sequences = std::min({options.max_sequences, caps.max_sequences, rows_for_sequences});
  return options;
}

Result<QueueLimits> effective_queue_limits(const char* name, QueueLimits limits, const ExecutorCapabilities& caps) {
  if (limits.max_waiting_tokens == 0) limits.max_waiting_tokens = std::uint64_t{8} * caps.context_tokens;
  if (limits.max_waiting_tokens < caps.context_tokens) {
    return Error::invalid(std::string(name) + ".max_waiting_tokens",
                          std::string(name) + ".max_waiting_tokens must be at least one context, " +
                              std::to_string(caps.context_tokens) +
                              " tokens, or the longest prompts could never be accepted.");
  }
  return limits;
}

// A class must be able to take one block, and to be waited for by the longest prompt.
Status check_classes(const ClassTable& classes, const ExecutorCapabilities& caps) {
  std::uint32_t fewest_blocks = std::numeric_limits<std::uint32_t>::max();
  for (const KvGroupInfo& group : caps.groups) fewest_blocks = std::min(fewest_blocks, group.block_count);
  for (const EngineClass& service_class : classes) {
    if (service_class.limits.ceiling.blocks * fewest_blocks < 1.0) {
      return Error::invalid(
          "class", "The max_blocks of a class is " + std::to_string(service_class.limits.ceiling.blocks) + " of " +
                       std::to_string(fewest_blocks) + " blocks, less than one: it could never be admitted.");
    }
    const std::uint64_t tokens = service_class.queue.max_waiting_tokens;
    if (tokens > 0 && tokens < caps.context_tokens) {
      return Error::invalid("class", "The max_waiting_tokens of a class must be 0 or at least one context, " +
                                         std::to_string(caps.context_tokens) +
                                         " tokens, or its longest prompts could never be accepted.");
    }
  }
  return {};
}

// What the options come to with this executor.
Result<EngineOptions> effective_options(EngineOptions options, const ExecutorCapabilities& caps) {
  Result<SchedulerOptions> sched = effective_scheduler_options(std::move(options.sched), caps);
  if (!sched.ok()) return sched.error();
  options.sched = std::move(sched.value());
  if (Status sound = check_classes(options.sched.classes, caps); !sound.ok()) return sound.error();
  Result<QueueLimits> realtime = effective_queue_limits("queue_realtime", options.realtime, caps);
  Result<QueueLimits> batch = effective_queue_limits("queue_batch", options.batch, caps);
  if (!realtime.ok()) return realtime.error();
  if (!batch.ok()) return batch.error();
  options.realtime = realtime.value();
  options.batch = batch.value();
  return options;
}

DoorLimits door_limits(const EngineOptions& options) {
  return {options.sched.max_sequences, options.realtime, options.batch, options.sched.classes};
}

Status check_capabilities(const ExecutorCapabilities& caps) {
  const bool complete = caps.vocab_size > 0 && caps.context_tokens > 0 && caps.max_sequences > 0 &&
                        caps.max_step_tokens > 0 && !caps.groups.empty();
  if (!complete) return Error::internal("The executor offers no vocabulary, context, seats, rows or KV memory.");
  return {};
}

}  // namespace

const char* to_string(StepOutcome outcome) {
  switch (outcome) {
    case StepOutcome::kNoWork:
      return "no_work";
    case StepOutcome::kDeferred:
      return "deferred";
    case StepOutcome::kUnserviceable:
      return "unserviceable";
    case StepOutcome::kCommitted:
      return "committed";
    case StepOutcome::kRetryable:
      return "retryable";
    case StepOutcome::kFatal:
      return "fatal";
  }
  return "fatal";
}

class Engine::Impl {
 public:
  Impl(std::unique_ptr<Executor> executor, const Clock& clock, EngineOptions given, const EngineOptions& options,
       std::vector<EventSink*> sinks, std::unique_ptr<KvCache> kv, std::unique_ptr<StepTimeModel> step_time,
       SchedulerTape* tape, std::unique_ptr<SwapStore> swap)
      : executor_(std::move(executor)),
        clock_(clock),
        given_(std::move(given)),
        model_(options.model),
        stall_after_(options.stall_after),
        kv_(std::move(kv)),
        step_time_(std::move(step_time)),
        door_(door_limits(options)),
        loop_({*executor_, clock, *kv_, *step_time_, door_, board_, std::move(sinks), tape, std::move(swap)}, options,
              options.sched) {
    board_.note_progress(clock.now());
  }

  Status check_room(const Place& place, std::uint64_t prompt_tokens, std::uint32_t choices) const {
    if (Status open = check_open(); !open.ok()) return open;
    return door_.check(place, prompt_tokens, choices);
  }

  Status check(const EngineOptions& options) const {
    const ExecutorCapabilities& caps = executor_->capabilities();
    const auto beyond = [](const char* key, std::uint32_t limit) {
      return Error{ErrorCode::kUnsupported,
                   std::string(key) + " can be at most " + std::to_string(limit) +
                       " until a restart: the executor was set up for so many.",
                   key};
    };
    const SchedulerOptions& sched = options.sched;
    if (sched.max_sequences > std::max(caps.max_sequences, given_.sched.max_sequences))
      return beyond("scheduler.max_sequences", caps.max_sequences);
    if (sched.max_step_tokens > std::max(caps.max_step_tokens, given_.sched.max_step_tokens))
      return beyond("scheduler.max_step_tokens", caps.max_step_tokens);
    if (options.kv.prefix_cache != given_.kv.prefix_cache)
      return Error{ErrorCode::kUnsupported, "kv.prefix_cache needs a restart.", "kv.prefix_cache"};
    const bool same_arena = options.swap.path == given_.swap.path && options.swap.bytes == given_.swap.bytes &&
                            options.swap.staging_bytes == given_.swap.staging_bytes;
    if (!same_arena) return Error{ErrorCode::kUnsupported, "The swap arena needs a restart.", "kv.swap_path"};
    const Result<EngineOptions> effective = effective_options(options, caps);
    return effective.ok() ? Status() : Status(effective.error());
  }

  void reconfigure(const EngineOptions& options) {
    Result<EngineOptions> effective = effective_options(options, executor_->capabilities());
    if (!effective.ok()) return;  // not checked before: what is in force stays
    auto next = std::make_shared<const EngineOptions>(std::move(effective.value()));
    stall_after_.store(next->stall_after);
    door_.change(door_limits(*next));
    mailbox_.push(ReconfigureCommand{std::move(next)});
  }

  Status submit(EngineRequest request) {
    if (Status open = check_open(); !open.ok()) return open;
    if (Status valid = validate(request); !valid.ok()) return valid;
    const ExecutorCapabilities& caps = executor_->capabilities();
    const auto limit = length_limit({static_cast<std::uint32_t>(request.prompt.size()), request.max_tokens},
                                    {caps.context_tokens, pool_of(request.service_class)});
    if (!limit.ok()) return limit.error();
    const bool was_idle = door_.sequences() == 0;
    Result<Door::Ticket> ticket =
        door_.enter(request.labels, request.service_class, request.prompt.size(), request.choices);
    if (!ticket.ok()) return ticket.error();
    if (was_idle) board_.note_progress(clock_.now());
    Command command = SubmitCommand{std::move(request), std::move(ticket.value()), limit.value()};
    if (mailbox_.push(std::move(command))) return {};
    auto& refused = std::get<SubmitCommand>(command);
    door_.leave(refused.ticket, refused.request.choices);
    return Error{ErrorCode::kUnavailable, "The server is draining.", "draining"};
  }

  void push(Command command) { mailbox_.push(std::move(command)); }

  void start() {
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  }

  void stop() {
    if (closed_.exchange(true)) return;
    mailbox_.push(StopCommand{});
    if (thread_.joinable()) thread_.join();
    // What was accepted meanwhile ends too: nothing is lost without a word.
    mailbox_.close();
    step();
  }

  StepOutcome step() {
    mailbox_.take_all(commands_);
    const StepOutcome outcome = loop_.turn(commands_);
    if (loop_.fatal() && !failed_.load()) failed_.store(true);
    return outcome;
  }

  void begin_drain(TimePoint deadline) {
    draining_.store(true);
    mailbox_.push(DrainCommand{deadline});
  }

  bool idle() const { return door_.sequences() == 0; }

  EngineStatus status() const {
    const BoardEntry entry = board_.read();
    const TimePoint now = clock_.now();
    EngineStatus status = entry.status;
    status.draining = draining_.load();
    status.failed = failed_.load();
    status.waiting_tokens = door_.waiting_tokens();
    if (entry.oldest_last_token != TimePoint::max())
      status.worst_token_gap = std::max(Duration::zero(), now - entry.oldest_last_token);
    if (status.failed) {
      status.reason = entry.status.reason.empty() ? "The executor is gone." : entry.status.reason;
    } else if (closed_.load()) {
      status.reason = "The engine has stopped.";
    } else if (status.draining) {
      status.reason = "The server is draining.";
    } else if (stands_still({!idle(), board_.last_progress()}, now, stall_after_.load())) {
      status.reason = "Work waits and no step was finished for " +
                      std::to_string(to_seconds(now - board_.last_progress())) + " seconds.";
    } else {
      status.reason.clear();
    }
    status.ready = status.reason.empty();
    return status;
  }

  StallReport stall_report() const {
    BoardEntry entry = board_.read();
    const TimePoint now = clock_.now();
    entry.stall.executing = board_.executing();
    entry.stall.since_progress = idle() ? Duration::zero() : now - board_.last_progress();
    for (WaitingSequence& sequence : entry.stall.sequences) sequence.since_last_progress += now - entry.planned_at;
    return std::move(entry.stall);
  }

  const ExecutorCapabilities& capabilities() const { return executor_->capabilities(); }

 private:
  Status check_open() const {
    if (failed_.load())
      return Error{ErrorCode::kUnavailable, "The executor is gone; nothing can be answered.", "model_unavailable"};
    if (draining_.load() || closed_.load())
      return Error{ErrorCode::kUnavailable, "The server is draining.", "draining"};
    return {};
  }

  // Positions that a request of the class may ever hold.
  std::uint64_t pool_of(ClassIndex service_class) const {
    return static_cast<std::uint64_t>(static_cast<double>(pool_tokens(executor_->capabilities().groups)) *
                                      door_.block_ceiling(service_class));
  }

  Status validate(const EngineRequest& request) const {
    const auto vocabulary = static_cast<std::int64_t>(executor_->capabilities().vocab_size);
    if (request.model != model_) return Error{ErrorCode::kNotFound, "This engine does not serve that model.", "model"};
    if (request.prompt.empty()) return Error::invalid("prompt", "The prompt has no tokens.");
    for (const TokenId token : request.prompt) {
      if (token < 0 || token >= vocabulary) {
        return Error::invalid("prompt", "Token " + std::to_string(token) + " is not in the vocabulary of " +
                                            std::to_string(vocabulary) + " tokens.");
      }
    }
    const std::uint64_t most = door_.most_sequences(request.labels.tier);
    if (request.choices == 0 || request.choices > most) {
      return Error::invalid(
          "n", "n must be between 1 and " + std::to_string(most) + ", the answers that may run and wait at a time.");
    }
    return {};
  }

  void run() {
    name_this_thread("takt-engine");
    while (!loop_.stopped()) {
      const StepOutcome outcome = step();
      if (outcome == StepOutcome::kDeferred) {
        mailbox_.wait(kDeferredPause);
      } else if (outcome == StepOutcome::kNoWork && !loop_.stopped()) {
        wait_for_work();
      }
    }
  }

  void wait_for_work() {
    const auto deadline = loop_.next_deadline();
    if (!deadline) {
      mailbox_.wait(std::nullopt);
      return;
    }
    mailbox_.wait(std::max(Duration::zero(), *deadline - clock_.now()));
  }

  std::unique_ptr<Executor> executor_;
  const Clock& clock_;
  const EngineOptions given_;  // at the start
  const ModelIndex model_;
  std::atomic<Duration> stall_after_;
  std::unique_ptr<KvCache> kv_;
  std::unique_ptr<StepTimeModel> step_time_;
  Door door_;
  StatusBoard board_;
  Mailbox mailbox_;
  StepLoop loop_;
  std::vector<Command> commands_;
  std::atomic<bool> draining_{false};
  std::atomic<bool> failed_{false};
  std::atomic<bool> closed_{false};
  std::thread thread_;
};

Result<std::unique_ptr<Engine>> Engine::create(std::unique_ptr<Executor> executor, const Clock& clock,
                                               EngineOptions options, std::vector<EventSink*> sinks,
                                               std::unique_ptr<StepTimeModel> step_time, SchedulerTape* tape,
                                               std::unique_ptr<SwapStore> swap) {
  const ExecutorCapabilities& caps = executor->capabilities();
  if (const Status complete = check_capabilities(caps); !complete.ok()) return complete.error();
  const EngineOptions given = options;
  Result<EngineOptions> effective = effective_options(std::move(options), caps);
  if (!effective.ok()) return effective.error();
  options = std::move(effective.value());
  Result<std::unique_ptr<KvCache>> kv = KvCache::create(caps.groups, options.kv);
  if (!kv.ok()) return kv.error();
  if (!step_time) {
    if (options.warm_up <= Duration::zero()) {
      return Error::invalid("engine.warm_up_ms",
                            "engine.warm_up_ms must be above 0: the step-time model starts from a measurement.");
    }
    Result<std::vector<StepSample>> samples = measure_steps(*executor, clock, options.warm_up);
    if (!samples.ok()) return samples.error();
    StepTimeTerms terms = fit_step_time(samples.value());
    if (swap) {
      const Result<double> copy = measure_block_copy(*executor, clock);
      if (!copy.ok()) return copy.error();
      terms.per_swapped = copy.value();
    }
    step_time = std::make_unique<LinearStepTimeModel>(terms);
  }
  auto impl = std::make_unique<Impl>(std::move(executor), clock, given, options, std::move(sinks),
                                     std::move(kv.value()), std::move(step_time), tape, std::move(swap));
  return std::unique_ptr<Engine>(new Engine(std::move(impl)));
}

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::~Engine() {
  impl_->stop();
}

Status Engine::check_room(const Place& place, std::uint64_t estimated_prompt_tokens, std::uint32_t choices) const {
  return impl_->check_room(place, estimated_prompt_tokens, choices);
}
Status Engine::check(const EngineOptions& options) const {
  return impl_->check(options);
}
void Engine::reconfigure(const EngineOptions& options) {
  impl_->reconfigure(options);
}
Status Engine::submit(EngineRequest request) {
  return impl_->submit(std::move(request));
}
void Engine::cancel(RequestId request, CancelCause cause) {
  impl_->push(CancelCommand{request, cause});
}
void Engine::finish_choice(RequestId request, std::uint32_t choice) {
  impl_->push(FinishChoiceCommand{request, choice});
}
void Engine::start() {
  impl_->start();
}
void Engine::stop() {
  impl_->stop();
}
StepOutcome Engine::step() {
  return impl_->step();
}
void Engine::begin_drain(TimePoint deadline) {
  impl_->begin_drain(deadline);
}
bool Engine::idle() const {
  return impl_->idle();
}
EngineStatus Engine::status() const {
  return impl_->status();
}
StallReport Engine::stall_report() const {
  return impl_->stall_report();
}
const ExecutorCapabilities& Engine::capabilities() const {
  return impl_->capabilities();
}

std::uint32_t Engine::max_request_tokens() const {
  return longest_sequence(capabilities());
}

}  // namespace takt
