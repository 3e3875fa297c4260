// Engine bookkeeping per step: capacity view, plan, reservation and commit, without executor and events. Lists are kept
// from step to step, as the engine keeps them.
#include <benchmark/benchmark.h>

#include <memory>
#include <unordered_map>
#include <vector>

#include "costmodel/linear_model.h"
#include "engine/engine.h"
#include "exec/fake/fake_executor.h"
#include "kv/kv_cache.h"
#include "sched/scheduler.h"

namespace takt {
namespace {

// Thousands of tokens per running sequence, so that what depends on length would show.
constexpr std::uint32_t kPrompt = 1500;

class Bookkeeping {
 public:
  Bookkeeping(std::uint32_t running, std::uint32_t waiting, OrderRule order)
      : kv_(std::move(KvCache::create({{16, 40000, 0}}, {}).value())),
        scheduler_(options(running, order), ModelIndex(0)),
        model_({0.004, 1e-5, 1e-9}) {
    for (std::uint32_t i = 0; i < running + waiting; ++i) add();
    while (scheduler_.counts().running < running) step();
  }

  void step() {
    const TimePoint now(std::chrono::milliseconds(++ms_));
    look_at_memory(now);
    scheduler_.plan(now, view_, model_, plan_);
    scheduler_.apply_drops(plan_, now);
    requests_.clear();
    for (const PlanEntry& e : plan_.entries)
      requests_.push_back({e.sequence, known_[e.sequence], e.first_position, e.cover_tokens});
    auto reservation = kv_->reserve(requests_);
    tokens_.clear();
    progress_.clear();
    for (const PlanEntry& e : plan_.entries) {
      std::vector<TokenId>& known = known_[e.sequence];
      tokens_.push_back({e.sequence, known, e.first_position + e.token_count});
      progress_.push_back({e.sequence, static_cast<std::uint32_t>(known.size()) + (e.samples ? 1 : 0),
                           e.first_position + e.token_count});
    }
    reservation.value().commit(tokens_);
    scheduler_.commit(plan_, progress_, now);
    for (const PlanEntry& e : plan_.entries) {
      if (e.samples) known_[e.sequence].push_back(static_cast<TokenId>(ms_ % 1000));
    }
    model_.observe(plan_.features, plan_.predicted);
  }

 private:
  void look_at_memory(TimePoint now) {
    kv_->count_into(view_);
    view_.prefixes.clear();
    view_.tails.clear();
    for (const SequenceId id : scheduler_.queue_heads(now))
      view_.prefixes.push_back(kv_->cached_prefix(id, known_[id]));
    for (const SequenceId id : scheduler_.holders(view_)) view_.tails.push_back(kv_->held_tail(id));
  }

  static SchedulerOptions options(std::uint32_t running, OrderRule order) {
    SchedulerOptions o;
    o.order = order;
    o.max_sequences = running;
    return o;
  }

  void add() {
    SequenceFacts facts;
    facts.id = SequenceId(++last_);
    facts.itl_target = std::chrono::milliseconds(100);
    facts.tenant = TenantId(last_ % 1000);
    facts.deadline = TimePoint(std::chrono::milliseconds(last_ * 7919 % 100000));
    facts.prompt_tokens = kPrompt;
    facts.limit_tokens = 1U << 30;
    facts.expires_at = TimePoint(std::chrono::hours(1000));
    std::vector<TokenId>& known = known_[facts.id];
    for (std::uint32_t i = 0; i < kPrompt; ++i) known.push_back(static_cast<TokenId>((last_ * 131 + i * 7) % 5000));
    kv_->open(facts.id, {});
    scheduler_.add(facts, TimePoint{});
  }

  std::unique_ptr<KvCache> kv_;
  Scheduler scheduler_;
  LinearStepTimeModel model_;
  std::unordered_map<SequenceId, std::vector<TokenId>> known_;
  CapacityView view_;
  StepPlan plan_;
  std::vector<ReserveRequest> requests_;
  std::vector<CommittedTokens> tokens_;
  std::vector<SequenceProgress> progress_;
  std::uint64_t last_ = 0;
  std::uint64_t ms_ = 0;
};

// Arguments: running, waiting, order (0 fcfs, 1 fair between a thousand tenants, 2 deadline).
void plan_and_commit(benchmark::State& state) {
  Bookkeeping bookkeeping(static_cast<std::uint32_t>(state.range(0)), static_cast<std::uint32_t>(state.range(1)),
                          static_cast<OrderRule>(state.range(2)));
  for (auto _ : state) bookkeeping.step();
}
BENCHMARK(plan_and_commit)
    ->Args({32, 0, 0})
    ->Args({32, 1000, 0})
    ->ArgsProduct({{64}, {100, 1000, 10000}, {0, 1, 2}})
    ->Iterations(4000)
    ->Unit(benchmark::kMicrosecond);

class NullSink final : public EventSink {
 public:
  void publish(const std::vector<Event>& events) noexcept override { benchmark::DoNotOptimize(events.data()); }
};

// A whole turn of the engine over a fake executor that costs nothing: 32 running, `waiting` waiting. Includes the
// fake's reading back of its blocks.
void engine_turn(benchmark::State& state) {
  ManualClock clock;
  NullSink sink;
  FakeScript script;
  script.block_count = 20000;
  script.context_tokens = 1U << 20;
  script.step_cost = std::chrono::milliseconds(1);
  EngineOptions options;
  options.sched.max_sequences = 32;
  options.realtime.max_waiting = 20000;
  auto engine =
      std::move(Engine::create(make_fake_executor(script, clock, advance(clock)), clock, options, {&sink}).value());
  for (std::int64_t i = 0; i < 32 + state.range(0); ++i) {
    EngineRequest r;
    r.id = RequestId(static_cast<std::uint64_t>(i) + 1);
    r.prompt = {97, 98, 99};
    r.targets.max_queue_wait = std::chrono::hours(20);
    if (!engine->submit(std::move(r)).ok()) state.SkipWithError("refused");
  }
  while (engine->status().running < 32) engine->step();
  for (auto _ : state) engine->step();
  engine->stop();
}
BENCHMARK(engine_turn)->Arg(0)->Arg(1000)->Arg(10000)->Iterations(2000)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace takt

BENCHMARK_MAIN();
