#include "load/load_run.h"

#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <memory>

#include "measure/verdict.h"
#include "scripted_transport.h"

namespace takt::load {
namespace {

using measure::Failure;
using measure::Outcome;
using test::Answer;
using test::ms;
using test::ScriptedTransport;
using test::streamed;

Palette letters_palette() {
  return {{"a", "b", "c", "d"}, 1.0, true, "a test"};
}

class ListSource final : public RequestSource {
 public:
  explicit ListSource(std::deque<PlannedRequest> list) : list_(std::move(list)) {}
  Result<std::optional<PlannedRequest>> next() override {
    if (list_.empty()) return std::optional<PlannedRequest>();
    auto first = std::move(list_.front());
    list_.pop_front();
    return std::optional(std::move(first));
  }

 private:
  std::deque<PlannedRequest> list_;
};

PlannedRequest request_at(Duration at, std::uint32_t tokens = 3) {
  PlannedRequest request;
  request.at = at;
  request.prompt_tokens = 10;
  request.output_tokens = tokens;
  return request;
}

std::deque<PlannedRequest> every(Duration gap, int count) {
  std::deque<PlannedRequest> list;
  for (int i = 0; i < count; ++i) list.push_back(request_at(gap * i));
  return list;
}

struct Bench {
  explicit Bench(ScriptedTransport::Script script) : transport(std::move(script)) {}

  RunResult run(std::deque<PlannedRequest> list, RunOptions options = {}) {
    LoadRun load(transport, writer, classes, std::move(options));
    load.set_source(std::make_unique<ListSource>(std::move(list)));
    return load.execute();
  }

  ScriptedTransport transport;
  PromptWriter writer{letters_palette()};
  std::vector<LoadClass> classes{{"chat", "", {ms(1000), ms(100), {}, {}}}};
};

TEST(LoadRun, MeasuresEveryLatencyExactly) {
  Bench bench([](const auto&, std::size_t) { return streamed(ms(30), ms(20), 3); });
  const auto result = bench.run(every(ms(500), 4));
  ASSERT_EQ(result.run.samples.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    const auto& sample = result.run.samples[i];
    const auto& times = sample.record.times;
    EXPECT_EQ(sample.record.outcome, Outcome::kComplete);
    EXPECT_EQ(sample.lag, Duration(0));
    EXPECT_EQ(times.scheduled - result.run.begin, ms(500) * static_cast<int>(i));
    EXPECT_EQ(measure::time_to_first_token(times), ms(30));
    EXPECT_EQ(sample.gaps, (std::vector<Duration>{ms(20), ms(20)}));
    EXPECT_EQ(measure::time_per_output_token(times), ms(20));
    EXPECT_EQ(measure::end_to_end(times), ms(70));
    EXPECT_EQ(measure::normalized_time_per_output_token(times), ms(70) / 3);
    EXPECT_EQ(sample.queue, ms(250));
    EXPECT_EQ(sample.preemptions, 1U);
    EXPECT_EQ(sample.prompt_tokens, 10U);
  }
  const auto verdict = measure::judge(result.run);
  EXPECT_TRUE(verdict.valid());
  EXPECT_EQ(verdict.overall.goodput.met, 4U);
  EXPECT_DOUBLE_EQ(verdict.overall.ttft.mean, 0.030);
  EXPECT_DOUBLE_EQ(verdict.overall.itl.mean, 0.020);
  // Nothing came behind them, so the window is the time that the work took: 1.5 s + 70 ms.
  EXPECT_DOUBLE_EQ(verdict.window_seconds, 1.57);
  EXPECT_DOUBLE_EQ(verdict.output_tokens_per_second, (12.0 - 1.0) / 1.57);  // the last one arrives as the window ends
}

// G1: a late sender must not improve the numbers.
TEST(LoadRun, LatenessOfTheSenderCountsAsLatencyAndMakesTheRunInvalid) {
  Bench bench([](const auto&, std::size_t) { return streamed(ms(30), ms(20), 3); });
  bench.transport.late = ms(80);  // the limit is 5 % of a target of 1 s
  const auto result = bench.run(every(ms(500), 20));
  const auto& sample = result.run.samples.back();
  EXPECT_EQ(sample.lag, ms(80));
  EXPECT_EQ(measure::time_to_first_token(sample.record.times), ms(110));
  const auto verdict = measure::judge(result.run);
  EXPECT_FALSE(verdict.valid());
  EXPECT_DOUBLE_EQ(verdict.lag.p99, 0.080);
  EXPECT_DOUBLE_EQ(verdict.lag.limit, 0.050);
}

TEST(LoadRun, LatenessWithinTheLimitLeavesTheRunValid) {
  Bench bench([](const auto&, std::size_t) { return streamed(ms(30), ms(20), 3); });
  bench.transport.late = ms(50);
  EXPECT_TRUE(measure::judge(bench.run(every(ms(500), 20)).run).valid());
}

TEST(LoadRun, AnOpenLoadIsSentAtItsInstantsHoweverSlowTheServerIs) {
  Bench bench([](const auto&, std::size_t) { return streamed(ms(5000), ms(10), 2); });
  const auto result = bench.run(every(ms(100), 20));
  for (std::size_t i = 1; i < 20; ++i)
    EXPECT_EQ(bench.transport.sent[i].first - bench.transport.sent[i - 1].first, ms(100));
  EXPECT_EQ(result.run.samples.size(), 20U);
}

TEST(LoadRun, WarmUpAndDrainAreSentAndNotMeasured) {
  Bench bench([](const auto&, std::size_t) { return streamed(ms(300), ms(10), 2); });
  RunOptions options;
  options.warm_up = ms(1000);
  options.measured = ms(2000);
  const auto result = bench.run(every(ms(100), 1000), std::move(options));
  EXPECT_EQ(result.run.end - result.run.begin, ms(2000));
  std::size_t measured = 0;
  std::size_t later = 0;
  for (const auto& sample : result.run.samples) {
    measured += sample.measured;
    later += sample.record.times.scheduled >= result.run.end;
    EXPECT_TRUE(!sample.measured || sample.record.outcome == Outcome::kComplete);
  }
  EXPECT_EQ(measured, 20U);
  EXPECT_GE(later, 3U);  // the last measured answers were served under continued load
  EXPECT_LT(result.run.samples.size(), 40U);
  EXPECT_TRUE(result.drained_under_load);
}

TEST(LoadRun, MeasuredAnswersThatDoNotComeWithinTheDrainAreMisses) {
  Bench bench([](const auto&, std::size_t number) {
    Answer answer = streamed(ms(30), ms(10), 2);
    if (number == 3) answer = {200, true, {}, ms(1), {}, {}, Failure::kNone};
    return answer;
  });
  RunOptions options;
  options.measured = ms(1000);
  options.drain = ms(700);
  const auto result = bench.run(every(ms(100), 1000), std::move(options));
  const auto verdict = measure::judge(result.run);
  EXPECT_EQ(verdict.overall.failures[static_cast<std::size_t>(Failure::kUnfinished)], 1U);
  EXPECT_EQ(verdict.overall.goodput.offered, 10U);
  EXPECT_EQ(verdict.overall.goodput.met, 9U);
}

TEST(LoadRun, ARunThatIsStoppedGivesWhatItHasMeasured) {
  Bench bench([](const auto&, std::size_t) { return streamed(ms(300), ms(10), 2); });
  RunOptions options;
  options.measured = ms(60'000);
  options.interrupted = [&] { return bench.transport.sent.size() >= 15; };
  const auto result = bench.run(every(ms(100), 1000), std::move(options));
  EXPECT_TRUE(result.interrupted);
  std::size_t measured = 0;
  for (const auto& sample : result.run.samples) {
    measured += sample.measured;
    // The others were cut by us.
    EXPECT_TRUE(!sample.measured || sample.record.outcome == Outcome::kComplete);
  }
  EXPECT_GE(measured, 10U);
  EXPECT_LT(result.run.end - result.run.begin, ms(2000));
  EXPECT_EQ(bench.transport.abandoned, result.run.samples.size() - measured);
}

TEST(LoadRun, EveryKindOfFailureIsKeptApart) {
  const std::vector<std::pair<Answer, Failure>> cases{
      {{0, false, {}, {}, {}, ms(1), Failure::kNoConnection}, Failure::kNoConnection},
      {{0, false, {}, {}, {}, ms(1), Failure::kReset}, Failure::kReset},
      {{0, false, {}, {}, {}, ms(1), Failure::kNotHttp}, Failure::kNotHttp},
      {{200, true, {}, ms(1), {{ms(2), test::token_event("x")}}, ms(3), Failure::kNone}, Failure::kHalfAnswer},
      {{200, true, {}, ms(1), {{ms(2), test::token_event("x")}}, ms(3), Failure::kHalfAnswer}, Failure::kHalfAnswer},
      {{200, true, {}, ms(1), {{ms(2), "data: {nonsense\n\n"}}, {}, Failure::kNone}, Failure::kWrongJson},
      {{200, true, {}, ms(1), {{ms(2), "data: 7\n\n"}}, {}, Failure::kNone}, Failure::kWrongJson},
      {{200, true, {}, ms(1), {{ms(2), "data: {\"error\":{\"message\":\"no\"}}\n\n"}}, {}, Failure::kNone},
       Failure::kErrorEvent},
      {{200, true, {}, ms(1), {{ms(2), "data: {\"object\":\"error\",\"message\":\"no\"}\n\n"}}, {}, Failure::kNone},
       Failure::kErrorEvent},
      {{429, false, 3.0, ms(1), {{ms(2), "{}"}}, ms(3), Failure::kNone}, Failure::kRateLimited},
      {{503, false, {}, ms(1), {{ms(2), "{}"}}, ms(3), Failure::kNone}, Failure::kOverloaded},
      {{500, false, {}, ms(1), {{ms(2), "oops"}}, ms(3), Failure::kNone}, Failure::kHttpStatus},
      {{200, true, {}, ms(1), {{ms(2), test::finish_event(5, 0)}}, ms(3), Failure::kNone}, Failure::kNoTokens},
      {{200, false, {}, ms(1), {{ms(2), "<html>"}}, ms(3), Failure::kNone}, Failure::kWrongJson},
      {{200, true, {}, ms(1), {}, {}, Failure::kNone}, Failure::kTimeout},
  };
  Bench bench([&](const auto&, std::size_t number) { return cases[number].first; });
  RunOptions options;
  options.timeout = ms(50);
  const auto result = bench.run(every(ms(100), static_cast<int>(cases.size())), std::move(options));
  ASSERT_EQ(result.run.samples.size(), cases.size());
  for (std::size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(result.run.samples[i].failure, cases[i].second) << i << ": " << to_string(result.run.samples[i].failure);
    EXPECT_NE(result.run.samples[i].record.outcome, Outcome::kComplete) << i;
  }
  const auto verdict = measure::judge(result.run);
  EXPECT_EQ(verdict.overall.goodput.offered, cases.size());
  EXPECT_EQ(verdict.overall.goodput.met, 0U);
}

// Details go into JSON: what a server sends need not.
TEST(LoadRun, TheFirstWordsOfAnErrorAreTextWhateverCame) {
  Bench bench([](const auto&, std::size_t) {
    return Answer{500,   false,         {}, ms(1), {{ms(2), "caf\xE9 " + std::string(194, '.') + "\xC3\xA9"}},
                  ms(3), Failure::kNone};
  });
  const auto result = bench.run(every(ms(100), 1));
  EXPECT_EQ(result.run.samples[0].detail, "caf\xEF\xBF\xBD " + std::string(194, '.') + "\xEF\xBF\xBD");
}

TEST(LoadRun, AnEventThatNeverEndsIsCut) {
  Bench bench([](const auto&, std::size_t) {
    Answer answer{200, true, {}, ms(1), {}, {}, Failure::kNone};
    for (int i = 0; i < 40; ++i) answer.body.emplace_back(ms(2), std::string(64 * 1024, 'x'));
    return answer;
  });
  const auto result = bench.run(every(ms(100), 1));
  EXPECT_EQ(result.run.samples[0].failure, Failure::kTooLarge);
  EXPECT_EQ(bench.transport.abandoned, 1U);
}

TEST(LoadRun, RetryAfterIsHonouredOnlyWhenAskedForAndTheWaitIsTheCallers) {
  const auto script = [](const auto&, std::size_t number) {
    if (number == 0) return Answer{429, false, 2.0, ms(1), {{ms(2), "{}"}}, ms(3), Failure::kNone};
    return streamed(ms(30), ms(20), 3);
  };
  Bench off(script);
  const auto refused = off.run(every(ms(1), 1));
  EXPECT_EQ(refused.run.samples[0].failure, Failure::kRateLimited);
  EXPECT_EQ(refused.run.samples[0].record.outcome, Outcome::kShed);
  EXPECT_EQ(off.transport.sent.size(), 1U);

  Bench on(script);
  RunOptions options;
  options.honour_retry_after = true;
  const auto retried = on.run(every(ms(1), 1), std::move(options));
  ASSERT_EQ(retried.run.samples.size(), 1U);
  EXPECT_EQ(retried.run.samples[0].retries, 1U);
  EXPECT_EQ(retried.run.samples[0].failure, Failure::kNone);
  EXPECT_EQ(measure::time_to_first_token(retried.run.samples[0].record.times), ms(2033));
  EXPECT_EQ(on.transport.sent[1].second.body, on.transport.sent[0].second.body);
}

TEST(LoadRun, CancelledRequestsAreLeftOutAndCounted) {
  Bench bench([](const auto&, std::size_t) { return streamed(ms(30), ms(100), 10); });
  auto list = every(ms(10), 2);
  list[1].cancel_after = ms(250);
  const auto result = bench.run(std::move(list));
  EXPECT_EQ(result.run.samples[1].record.outcome, Outcome::kCancelled);
  EXPECT_EQ(result.run.samples[1].gaps.size(), 2U);
  EXPECT_EQ(bench.transport.abandoned, 1U);
  const auto verdict = measure::judge(result.run);
  EXPECT_EQ(verdict.overall.goodput.offered, 1U);
  EXPECT_EQ(verdict.overall.goodput.cancelled, 1U);
}

TEST(LoadRun, WhoWaitsForTheLimitOfConcurrencyWaitsOnTheServersAccount) {
  Bench bench([](const auto&, std::size_t) { return streamed(ms(100), ms(100), 2); });
  RunOptions options;
  options.limit_concurrency = 1;
  const auto result = bench.run(every(ms(50), 3), std::move(options));
  EXPECT_EQ(measure::time_to_first_token(result.run.samples[0].record.times), ms(100));
  EXPECT_EQ(measure::time_to_first_token(result.run.samples[1].record.times), ms(250));
  EXPECT_EQ(measure::time_to_first_token(result.run.samples[2].record.times), ms(400));
  EXPECT_EQ(result.run.samples[2].lag, Duration(0));
}

TEST(LoadRun, ATurnWaitsForTheAnswerBeforeWhenAskedTo) {
  Bench bench([](const auto&, std::size_t) { return streamed(ms(500), ms(100), 2); });
  std::deque<PlannedRequest> list;
  for (int i = 0; i < 3; ++i) {
    list.push_back(request_at(ms(100) * i));
    list.back().session = "s";
    list.back().think = ms(50);
  }
  RunOptions options;
  options.sessions_wait = true;
  const auto result = bench.run(std::move(list), std::move(options));
  ASSERT_EQ(result.run.samples.size(), 3U);
  EXPECT_EQ(bench.transport.sent[1].first - bench.transport.sent[0].first, ms(650));
  EXPECT_EQ(bench.transport.sent[2].first - bench.transport.sent[1].first, ms(650));
  EXPECT_EQ(measure::time_to_first_token(result.run.samples[2].record.times), ms(500));
}

TEST(LoadRun, AClosedLoadAsksWhenTheAnswerIsThereAndRemembersTheConversation) {
  Bench bench([](const auto&, std::size_t) { return streamed(ms(50), ms(25), 3); });
  RunOptions options;
  options.requests = 6;
  LoadRun load(bench.transport, bench.writer, bench.classes, std::move(options));
  load.add_closed({0, 1, 3, [](std::uint64_t) { return 5U; }, [](std::uint64_t) { return 3U; },
                   [](std::uint64_t) { return ms(400); }, "app", 7, 0});
  const auto result = load.execute();
  EXPECT_FALSE(result.open_load);
  const auto& sent = bench.transport.sent;
  ASSERT_GE(sent.size(), 6U);
  for (std::size_t i = 1; i < 6; ++i) EXPECT_EQ(sent[i].first - sent[i - 1].first, ms(500));
  const auto turns = [](const std::string& body) {
    std::size_t count = 0;
    for (std::size_t at = 0; (at = body.find("\"role\"", at)) != std::string::npos; ++at) ++count;
    return count;
  };
  EXPECT_EQ(turns(sent[0].second.body), 1U);
  EXPECT_EQ(turns(sent[1].second.body), 3U);
  EXPECT_EQ(turns(sent[2].second.body), 5U);
  EXPECT_EQ(turns(sent[3].second.body), 1U);
  EXPECT_NE(sent[1].second.body.find("xxx"), std::string::npos);  // the answer before
}

TEST(LoadRun, TokensThatComeTogetherMakeOneGapAndTheServersCountIsTaken) {
  Bench bench([](const auto&, std::size_t) {
    Answer answer;
    answer.body.emplace_back(ms(10), test::token_event("a"));
    answer.body.emplace_back(ms(40), test::token_event("bcd") + test::finish_event(10, 9));
    answer.ends_after = ms(40);
    return answer;
  });
  const auto result = bench.run(every(ms(1), 1));
  const auto& sample = result.run.samples[0];
  EXPECT_EQ(sample.gaps, (std::vector<Duration>{ms(30)}));
  EXPECT_EQ(sample.record.times.tokens, 9U);
  EXPECT_EQ(measure::time_per_output_token(sample.record.times), ms(30) / 8);
}

TEST(LoadRun, AStreamInAnyPiecesGivesTheSameSample) {
  const std::string stream =
      test::token_event("a") + ": keep-alive\n\n" + test::token_event("b") + test::finish_event(10, 2);
  for (std::size_t size = 1; size < 40; ++size) {
    Bench bench([&](const auto&, std::size_t) {
      Answer answer;
      for (std::size_t at = 0; at < stream.size(); at += size) answer.body.emplace_back(ms(5), stream.substr(at, size));
      answer.ends_after = ms(5);
      return answer;
    });
    const auto result = bench.run(every(ms(1), 1));
    EXPECT_EQ(result.run.samples[0].failure, Failure::kNone) << size;
    EXPECT_EQ(result.run.samples[0].gaps.size(), 1U) << size;
  }
}

TEST(LoadRun, AQueueWaitThatExpiredIsNoFailureOfTheServer) {
  Bench bench([](const auto&, std::size_t) {
    return Answer{503,
                  false,
                  {},
                  ms(1),
                  {{ms(2), R"({"error":{"message":"waited too long","code":"queue_wait_expired"}})"}},
                  ms(3),
                  Failure::kNone};
  });
  EXPECT_EQ(bench.run(every(ms(1), 1)).run.samples[0].record.outcome, Outcome::kExpired);
}

}  // namespace
}  // namespace takt::load
