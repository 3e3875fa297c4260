#include "engine/scenario_machine.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>

#include "base/random.h"
#include "costmodel/linear_model.h"
#include "engine/warm_up.h"
#include "exec/cpu/cpu_executor.h"
#include "exec/fake/fake_executor.h"

namespace takt::bench {

using std::chrono::milliseconds;

namespace {

[[noreturn]] void give_up(const Error& error) {
  std::fprintf(stderr, "scenarios: %s\n", error.message.c_str());
  std::exit(1);
}

EngineOptions with_wide_doors(EngineOptions options) {
  options.realtime.max_waiting = options.batch.max_waiting = 100'000;
  options.realtime.max_waiting_tokens = options.batch.max_waiting_tokens = 1U << 30;
  return options;
}

FakeScript virtual_machine(const EngineOptions& options, std::uint32_t blocks, Duration per_token) {
  FakeScript script;
  script.max_sequences = options.sched.max_sequences;
  script.step_cost = milliseconds(8);
  script.token_cost = per_token;
  script.attended_cost = std::chrono::nanoseconds(20);
  script.block_count = blocks;
  script.context_tokens = 16384;
  script.length = 1U << 20;
  return script;
}

std::unique_ptr<Executor> real_machine(const Place& place, std::uint32_t blocks, const EngineOptions& options,
                                       const Clock& clock) {
  CpuExecutorOptions compute;
  compute.kv_blocks = place.scaled(blocks);
  compute.max_step_tokens = options.sched.max_step_tokens;
  compute.max_sequences = options.sched.max_sequences;
  compute.max_context_tokens = std::min<std::uint32_t>(4096, compute.kv_blocks * compute.block_tokens);
  auto executor = CpuExecutor::load(place.model, compute, clock);
  if (!executor) give_up(executor.error());
  return std::move(*executor);
}

}  // namespace

double quantile(std::vector<double> values, double p) {
  if (values.empty()) return 0.0;
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(p * static_cast<double>(values.size() - 1))];
}

void Watch::publish(const std::vector<Event>& events) noexcept {
  for (const Event& event : events) std::visit([&](const auto& what) { note(event.at, what); }, event.what);
}

void Watch::note(TimePoint, const Accepted& e) {
  requests_[e.request.value] = {e.labels.application, e.arrival, {}};
}

void Watch::note(TimePoint at, const TokenSampled& e) {
  Request& r = requests_[e.request.value];
  Times& group = groups[r.group];
  ++group.tokens;
  if (r.has_first) {
    group.gap_ms.push_back(to_seconds(at - r.last) * 1e3);
  } else {
    group.first_ms.push_back(to_seconds(at - r.arrival) * 1e3);
  }
  r.has_first = true;
  r.last = at;
}

void Watch::note(TimePoint, const Preempted& e) {
  ++groups[requests_[e.request.value].group].preemptions;
}

void Watch::note(TimePoint at, const Closed& e) {
  Request& r = requests_[e.request.value];
  groups[r.group].done_ms.push_back(to_seconds(at - r.arrival) * 1e3);
  requests_.erase(e.request.value);
  ++ended;
}

void Watch::note(TimePoint, const StepCommitted& e) {
  overruns += e.plan.beat_overrun ? 1 : 0;
  computed += e.plan.features.tokens - e.plan.features.padding_rows;
  const AdmissionPressure& pressure = e.plan.pressure;
  most_share_lost = std::max(most_share_lost, 1.0 - std::min(pressure.batch_share, pressure.realtime_share));
}

Machine::Machine(const Place& place, const EngineOptions& options, std::uint32_t blocks, Duration per_token)
    : place_(place) {
  const EngineOptions all = with_wide_doors(options);
  std::unique_ptr<Executor> executor;
  std::unique_ptr<StepTimeModel> step_time;
  if (place.live()) {
    clock_ = std::make_unique<SteadyClock>();
    executor = real_machine(place, blocks, all, *clock_);
    const auto samples = measure_steps(*executor, *clock_, all.warm_up);
    if (!samples) give_up(samples.error());
    step_time = std::make_unique<LinearStepTimeModel>(fit_step_time(*samples));
  } else {
    auto manual = std::make_unique<ManualClock>();
    manual_ = manual.get();
    clock_ = std::move(manual);
    executor = make_fake_executor(virtual_machine(options, blocks, per_token), *clock_, advance(*manual_));
  }
  vocabulary_ = executor->capabilities().vocab_size;
  auto engine = Engine::create(std::move(executor), *clock_, all, {&watch}, std::move(step_time));
  if (!engine) give_up(engine.error());
  engine_ = std::move(*engine);
}

Machine::~Machine() = default;

void Machine::ask(const Ask& ask, std::optional<TimePoint> arrival) {
  EngineRequest r;
  r.id = RequestId(++last_);
  const std::uint32_t prompt = place_.scaled(ask.prompt);
  const std::uint32_t shared = place_.scaled(ask.shared);
  // Letters in the script's vocabulary, words of any kind in a real one.
  const std::uint32_t first = place_.live() ? 300 : 'a';
  const std::uint32_t kinds = place_.live() ? vocabulary_ - first : 26;
  for (std::uint32_t i = 0; i < prompt; ++i) {
    const std::uint64_t seed = i < shared ? std::hash<std::string>{}(ask.group) : last_;
    r.prompt.push_back(static_cast<TokenId>(first + philox4x32(seed, i)[0] % kinds));
  }
  r.max_tokens = place_.scaled(ask.output);
  r.sampling.temperature = 0.0F;
  r.labels.application = ask.group;
  r.labels.tenant = ask.tenant;
  r.labels.tier = ask.tier;
  if (ask.tier == Tier::kBatch) r.service_class = ClassIndex(0);
  r.targets.itl = ask.itl;
  r.targets.max_queue_wait = std::chrono::hours(20);
  r.arrival = arrival.value_or(now());
  r.use_prefix_cache = ask.shared > 0;
  if (const Status sent = engine_->submit(std::move(r)); !sent.ok()) give_up(sent.error());
}

void Machine::run(Duration time, const std::function<void()>& every) {
  const TimePoint end = now() + time;
  run_until([&] { return now() >= end; }, every);
}

void Machine::run_until(const std::function<bool()>& done, const std::function<void()>& every) {
  for (int i = 0; i < 5'000'000 && !done(); ++i) {
    if (every) every();
    turn();
  }
}

void Machine::turn() {
  const StepOutcome outcome = engine_->step();
  if (outcome != StepOutcome::kNoWork && outcome != StepOutcome::kDeferred) return;
  if (manual_ != nullptr) {
    manual_->advance(milliseconds(1));
  } else {
    std::this_thread::sleep_for(milliseconds(1));
  }
}

}  // namespace takt::bench
