#include "route/quota.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/clock.h"

namespace takt::route {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using TicketPtr = std::shared_ptr<QuotaLedger::Ticket>;

class QuotaTest : public ::testing::Test {
 protected:
  std::optional<QuotaRefusal> refused(std::uint64_t key, const KeyLimits& limits) {
    auto entered = ledger_.enter(key, limits);
    if (auto* refusal = std::get_if<QuotaRefusal>(&entered)) return *refusal;
    held_.push_back(std::get<TicketPtr>(entered));
    return std::nullopt;
  }
  int let_in(std::uint64_t key, const KeyLimits& limits, int tries) {
    int count = 0;
    for (int i = 0; i < tries; ++i) count += refused(key, limits) ? 0 : 1;
    return count;
  }

  ManualClock clock_;
  QuotaLedger ledger_{clock_};
  std::vector<TicketPtr> held_;
};

// H9: two keys with 12 and 8 requests a minute.
TEST_F(QuotaTest, EachKeyHasItsOwnRequestsAMinute) {
  EXPECT_EQ(let_in(1, {12, 0, 0}, 20), 12);
  EXPECT_EQ(let_in(2, {8, 0, 0}, 20), 8);
  EXPECT_EQ(let_in(3, {}, 1000), 1000) << "no limits";
}

// H9: never more than the limit in any sixty seconds, wherever they begin.
TEST_F(QuotaTest, NoSixtySecondsHoldMoreThanTheLimit) {
  std::vector<TimePoint> entries;
  const KeyLimits limits{5, 0, 0};
  for (int i = 0; i < 3000; ++i) {
    if (!refused(1, limits)) entries.push_back(clock_.now());
    clock_.advance(milliseconds(137));
  }
  ASSERT_GT(entries.size(), 30U);
  for (std::size_t i = 5; i < entries.size(); ++i) EXPECT_GE(entries[i] - entries[i - 5], seconds(60)) << i;
}

TEST_F(QuotaTest, ARefusalSaysWhenToComeBackAndThenLetsIn) {
  const KeyLimits limits{2, 0, 0};
  EXPECT_EQ(let_in(1, limits, 2), 2);
  clock_.advance(seconds(10));
  const auto refusal = refused(1, limits);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->error.code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(refusal->error.field, "request_quota_exceeded");
  clock_.advance(seconds(refusal->retry_after_seconds) - milliseconds(1100));
  EXPECT_TRUE(refused(1, limits));
  clock_.advance(milliseconds(1100));
  EXPECT_FALSE(refused(1, limits));
}

TEST_F(QuotaTest, CheckingTakesNothing) {
  const KeyLimits limits{1, 0, 1};
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(ledger_.check(1, limits));
  EXPECT_FALSE(refused(1, limits));
  EXPECT_TRUE(ledger_.check(1, limits));
}

TEST_F(QuotaTest, TokensOfPromptsAndAnswersCount) {
  const KeyLimits limits{0, 100, 0};
  EXPECT_FALSE(refused(1, limits));
  EXPECT_FALSE(held_[0]->charge_prompt(60));
  held_[0]->charge_answer(30);
  EXPECT_FALSE(refused(1, limits)) << "ten are left";
  const auto refusal = held_[1]->charge_prompt(20);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->error.field, "token_quota_exceeded");
  EXPECT_EQ(refusal->retry_after_seconds, 61U);
  EXPECT_FALSE(held_[1]->charge_prompt(10));
  EXPECT_TRUE(refused(1, limits)) << "all used up: refused at the door";
  clock_.advance(seconds(61));
  EXPECT_FALSE(refused(1, limits));
}

// An answer may go above the limit; those that come pay for it.
TEST_F(QuotaTest, AnAnswerIsNeverCutByTheLimit) {
  const KeyLimits limits{0, 100, 0};
  EXPECT_FALSE(refused(1, limits));
  held_[0]->charge_answer(500);
  EXPECT_TRUE(refused(1, limits));
}

// A19: what can never be let in is told so, and not to come back.
TEST_F(QuotaTest, APromptBeyondAWholeMinuteIsAnErrorOfItsOwn) {
  EXPECT_FALSE(refused(1, {0, 100, 0}));
  const auto refusal = held_[0]->charge_prompt(101);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->error.code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(refusal->retry_after_seconds, 0U);
}

// H7: what is in flight is counted by what is there, however long it takes.
TEST_F(QuotaTest, RequestsInFlightAreCountedByWhatIsThere) {
  const KeyLimits limits{0, 0, 2};
  EXPECT_EQ(let_in(1, limits, 3), 2);
  clock_.advance(std::chrono::hours(10));
  EXPECT_TRUE(refused(1, limits));
  held_[0]->release();
  held_[0]->release();
  EXPECT_EQ(let_in(1, limits, 3), 1) << "a place is freed once";
  held_.clear();
  EXPECT_EQ(let_in(1, limits, 3), 2);
}

// H9: a reload changes the limit and forgets nothing.
TEST_F(QuotaTest, WhatWasUsedIsKeptWhenTheLimitChanges) {
  EXPECT_EQ(let_in(1, {5, 0, 0}, 10), 5);
  EXPECT_EQ(let_in(1, {8, 0, 0}, 10), 3);
  EXPECT_EQ(let_in(1, {2, 0, 0}, 10), 0);
}

}  // namespace
}  // namespace takt::route
