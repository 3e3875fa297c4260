// Whatever happens in whatever order: every request ends once, its tokens are those of a run alone, and memory comes
// back.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>

#include "support/engine_harness.h"

namespace takt {
namespace {

using std::chrono::milliseconds;
using testing::EngineHarness;
using testing::letters;
using testing::quick_script;

struct Shape {
  std::uint32_t prompt = 1;
  std::uint32_t start = 0;
  std::uint32_t max_tokens = 8;
  std::uint32_t choices = 1;
  bool batch = false;
  bool use_cache = true;
  int patience_ms = 0;  // 0: endless
};

EngineRequest make_request(const EngineHarness& h, std::uint64_t id, const Shape& shape) {
  EngineRequest r = h.request(id, letters(shape.prompt, shape.start), shape.max_tokens);
  r.choices = shape.choices;
  r.labels.tier = shape.batch ? Tier::kBatch : Tier::kRealtime;
  r.use_prefix_cache = shape.use_cache;
  r.targets.max_queue_wait =
      shape.patience_ms > 0 ? Duration(milliseconds(shape.patience_ms)) : Duration(std::chrono::hours(20));
  return r;
}

// The answer of every choice when the request is alone on a big pool.
std::map<std::uint32_t, std::vector<TokenId>> answers_alone(std::uint64_t id, Shape shape) {
  FakeScript script = quick_script();
  script.length = 20;
  EngineHarness h(script);
  shape.patience_ms = 0;
  RC_ASSERT(h.engine->submit(make_request(h, id, shape)).ok());
  RC_ASSERT(h.run());
  std::map<std::uint32_t, std::vector<TokenId>> answers;
  for (auto& [choice, record] : h.events.of(id).choices) answers[choice] = record.tokens;
  return answers;
}

Shape random_shape() {
  Shape shape;
  shape.prompt = *rc::gen::inRange(1U, 90U);
  shape.start = *rc::gen::inRange(0U, 3U);
  shape.max_tokens = *rc::gen::inRange(1U, 30U);
  shape.choices = *rc::gen::weightedElement<std::uint32_t>({{6, 1}, {1, 2}, {1, 3}});
  shape.batch = *rc::gen::weightedElement<bool>({{3, false}, {1, true}});
  shape.use_cache = *rc::gen::weightedElement<bool>({{4, true}, {1, false}});
  shape.patience_ms = *rc::gen::weightedElement<int>({{5, 0}, {1, 40}});
  return shape;
}

FakeScript random_script() {
  FakeScript script = quick_script();
  script.length = 20;
  script.block_count = *rc::gen::inRange(16U, 40U);
  script.groups = *rc::gen::inRange(1U, 3U);
  script.max_sequences = *rc::gen::inRange(1U, 9U);
  script.max_step_tokens = *rc::gen::element(16U, 64U, 512U);
  script.fail = *rc::gen::element(FakeFailure::kNone, FakeFailure::kOnce, FakeFailure::kThrow, FakeFailure::kSubmit,
                                  FakeFailure::kUnsampled, FakeFailure::kEntry);
  script.fail_step = *rc::gen::inRange(1U, 60U);
  return script;
}

bool is_prefix(const std::vector<TokenId>& tokens, const std::vector<TokenId>& whole) {
  return tokens.size() <= whole.size() && std::equal(tokens.begin(), tokens.end(), whole.begin());
}

void check_request(EngineHarness& h, std::uint64_t id, const Shape& shape) {
  auto& history = h.events.of(id);
  RC_ASSERT(history.accepted.has_value());
  RC_ASSERT(history.closed.has_value());
  RC_ASSERT(history.events_after_close == 0);
  RC_ASSERT(history.choices.size() == shape.choices);
  auto alone = answers_alone(id, shape);
  for (auto& [choice, record] : history.choices) {
    RC_ASSERT(record.finished.has_value());
    RC_ASSERT(record.finished->generated_tokens == record.tokens.size());
    const bool complete =
        record.finished->reason == FinishReason::kStop || record.finished->reason == FinishReason::kLength;
    const bool as_alone = complete ? record.tokens == alone[choice] : is_prefix(record.tokens, alone[choice]);
    RC_ASSERT(as_alone);
  }
}

// Any mode of batching.
EngineOptions random_options() {
  EngineOptions options;
  SchedulerOptions& sched = options.sched;
  sched.join = *rc::gen::weightedElement<JoinRule>({{3, JoinRule::kEveryStep}, {1, JoinRule::kWhenEmpty}});
  sched.prefill = *rc::gen::weightedElement<PrefillRule>({{3, PrefillRule::kChunked}, {1, PrefillRule::kWhole}});
  sched.admission = *rc::gen::element(AdmissionRule::kGreedy, AdmissionRule::kPredicted, AdmissionRule::kWorstCase);
  sched.reserve = *rc::gen::weightedElement<KvReserve>(
      {{4, KvReserve::kPaged}, {1, KvReserve::kWorstCase}, {1, KvReserve::kContext}});
  if (sched.admission == AdmissionRule::kWorstCase)
    sched.preemption = *rc::gen::element(PreemptionRule::kNone, PreemptionRule::kRecompute);
  if (sched.join == JoinRule::kWhenEmpty) {
    sched.leave = *rc::gen::element(LeaveRule::kWhenFinished, LeaveRule::kWithBatch);
    sched.padding = sched.prefill == PrefillRule::kWhole && *rc::gen::arbitrary<bool>();
  }
  if (sched.join == JoinRule::kEveryStep)
    sched.order = *rc::gen::element(OrderRule::kFcfs, OrderRule::kFair, OrderRule::kDeadline);
  sched.batch_min_share = *rc::gen::element(0.0, 0.05, 0.5);
  sched.breaker.preemptions_per_minute = *rc::gen::element(0U, 2U, 60U);
  if (sched.preemption != PreemptionRule::kNone)
    sched.preemption = *rc::gen::element(PreemptionRule::kRecompute, PreemptionRule::kSwap, PreemptionRule::kAuto);
  options.kv.linger = milliseconds(*rc::gen::element(0, 5, 5000));
  options.kv.pinned_share = *rc::gen::element(0.0, 0.2, 0.9);
  if (*rc::gen::weightedElement<bool>({{2, false}, {1, true}}))
    sched.window = {*rc::gen::inRange(1U, 5U), *rc::gen::element(0.0, 0.5), milliseconds(20),
                    *rc::gen::arbitrary<bool>()};
  return options;
}

// None, or one that is roomy or small, quick or slow, and sound or not.
std::optional<TimedStoreScript> random_arena() {
  if (*rc::gen::arbitrary<bool>()) return std::nullopt;
  TimedStoreScript arena;
  arena.pages = *rc::gen::element(2U, 8U, 64U);
  arena.staging_pages = *rc::gen::element(1U, 4U, 32U);
  arena.out_time = *rc::gen::element(Duration(0), Duration(milliseconds(1)), Duration(milliseconds(30)));
  arena.in_time = *rc::gen::element(Duration(0), Duration(milliseconds(1)), Duration(milliseconds(30)));
  arena.fail_out_every = *rc::gen::element(0U, 0U, 3U);
  arena.fail_in_every = *rc::gen::element(0U, 0U, 3U);
  arena.change_in_every = *rc::gen::element(0U, 0U, 2U);
  return arena;
}

// Runs to the end; a window that holds work back ends with time.
bool run_to_the_end(EngineHarness& h) {
  for (int i = 0; i < 20000; ++i) {
    const StepOutcome outcome = h.engine->step();
    if (outcome == StepOutcome::kNoWork && h.engine->idle()) return true;
    if (outcome == StepOutcome::kDeferred) h.clock.advance(milliseconds(1));
  }
  return false;
}

RC_GTEST_PROP(EngineProperty, SequencesAndBlocksAreConservedThroughAnyOperations, ()) {
  EngineHarness h(random_script(), random_options(), random_arena());
  std::map<std::uint64_t, Shape> accepted;
  std::uint64_t id = 0;
  const auto operations = *rc::gen::inRange(5, 60);
  for (int i = 0; i < operations; ++i) {
    const int what = *rc::gen::weightedElement<int>({{4, 0}, {10, 1}, {1, 2}, {1, 3}});
    if (what == 0) {
      const Shape shape = random_shape();
      ++id;
      const Status status = h.engine->submit(make_request(h, id, shape));
      if (status.ok()) accepted[id] = shape;
    } else if (what == 1) {
      h.step(*rc::gen::inRange(1, 6));
    } else if (what == 2 && id > 0) {
      const std::uint64_t victim = *rc::gen::inRange<std::uint64_t>(1, id + 1);
      h.engine->cancel(RequestId(victim), CancelCause::kClientGone);
    } else {
      h.clock.advance(milliseconds(*rc::gen::inRange(0, 30)));
    }
    RC_ASSERT(!h.engine->status().failed);  // an invariant that broke would say so
  }
  RC_ASSERT(run_to_the_end(h));
  RC_ASSERT(h.engine->status().blocks_owned == 0U);
  h.clock.advance(std::chrono::seconds(60));  // transfers that are still under way
  h.step();
  RC_ASSERT(h.engine->status().swap.used_bytes == 0U);
  RC_ASSERT(!h.engine->status().failed);
  RC_ASSERT(h.events.requests.size() == accepted.size());
  for (const auto& [request, shape] : accepted) check_request(h, request, shape);
}

// B11: preempted at every possible step, a request's tokens are those of a run without preemption, none lost and none
// twice.
TEST(EngineProperty, PreemptionAtEveryStepChangesNoToken) {
  FakeScript script = quick_script();
  script.length = 24;
  const auto alone = [&](std::uint64_t id, const std::vector<TokenId>& prompt, std::uint32_t most) {
    EngineHarness h(script);
    EXPECT_TRUE(h.submit(id, prompt, most).ok());
    EXPECT_TRUE(h.run());
    return h.events.tokens(id);
  };
  const auto expected = alone(2, letters(20, 9), 24);
  std::vector<bool> preempted_after(24, false);
  for (std::uint32_t older = 1; older <= 40; ++older) {
    for (std::uint32_t blocks = 4; blocks <= 7; ++blocks) {
      FakeScript tight = script;
      tight.length = 60;
      tight.block_count = blocks;
      EngineOptions options;
      options.sched.watermark = 0;  // so that the first block that is missing can be missed at once
      EngineHarness h(tight, options);
      EngineRequest first = h.request(1, letters(older, 2));
      first.end_tokens.clear();  // runs on to its limit
      first.max_tokens = blocks * 16 - older;
      ASSERT_TRUE(h.engine->submit(std::move(first)).ok());
      ASSERT_TRUE(h.submit(2, letters(20, 9), 24).ok());
      ASSERT_TRUE(h.run());
      EXPECT_EQ(h.events.tokens(2), expected) << "older prompt " << older << ", blocks " << blocks;
      for (const std::size_t after : h.events.of(2).preempted_after) {
        if (after < preempted_after.size()) preempted_after[after] = true;
      }
    }
  }
  for (std::size_t i = 1; i < preempted_after.size(); ++i)
    EXPECT_TRUE(preempted_after[i]) << "never preempted after " << i << " tokens";
}

}  // namespace
}  // namespace takt
