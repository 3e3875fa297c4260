#include "measure/goodput.h"

#include <gtest/gtest.h>

#include <vector>

namespace takt::measure {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// First token at 100 ms, gaps of 20, 60 and 40 ms, end at 230 ms.
RequestRecord four_tokens() {
  RequestRecord record;
  for (const int ms : {100, 120, 180, 220}) note_tokens(record.times, TimePoint(milliseconds(ms)));
  record.times.end = TimePoint(milliseconds(230));
  return record;
}

TEST(Goodput, ALatencyThatIsExactlyTheTargetMeetsIt) {
  auto record = four_tokens();
  record.targets = {milliseconds(100), milliseconds(60), milliseconds(40), milliseconds(230)};
  EXPECT_TRUE(met_all_targets(record));
}

TEST(Goodput, MissingAnyOneTargetIsAMiss) {
  const Targets exact{milliseconds(100), milliseconds(60), milliseconds(40), milliseconds(230)};
  const milliseconds less(1);
  for (int missed = 0; missed < 4; ++missed) {
    auto record = four_tokens();
    record.targets = exact;
    auto* target = missed == 0   ? &record.targets.ttft
                   : missed == 1 ? &record.targets.itl
                   : missed == 2 ? &record.targets.tpot
                                 : &record.targets.end_to_end;
    **target -= less;
    EXPECT_FALSE(met_all_targets(record)) << "target " << missed;
  }
}

TEST(Goodput, TimePerTokenIsNotTestedForAnswersOfOneToken) {
  RequestRecord record;
  note_tokens(record.times, TimePoint(milliseconds(10)));
  record.times.end = TimePoint(milliseconds(11));
  record.targets.tpot = Duration(0);
  record.targets.itl = Duration(0);
  EXPECT_TRUE(met_all_targets(record));
}

TEST(Goodput, CountsOverAllOfferedAndLeavesOutWhatTheUserCancelled) {
  std::vector<RequestRecord> records(6, four_tokens());
  records[1].outcome = Outcome::kFailed;
  records[2].outcome = Outcome::kShed;
  records[3].outcome = Outcome::kExpired;
  records[4].outcome = Outcome::kCancelled;
  const Goodput result = goodput(records);
  EXPECT_EQ(result.offered, 5u);
  EXPECT_EQ(result.cancelled, 1u);
  EXPECT_EQ(result.met, 2u);
  EXPECT_EQ(result.met_tokens, 8u);
  EXPECT_DOUBLE_EQ(*result.attainment(), 0.4);
  EXPECT_DOUBLE_EQ(result.requests_per_second(seconds(4)), 0.5);
  EXPECT_DOUBLE_EQ(result.tokens_per_second(seconds(4)), 2.0);
}

TEST(Goodput, NothingOfferedHasNoAttainment) {
  EXPECT_FALSE(goodput({}).attainment());
}

}  // namespace
}  // namespace takt::measure
