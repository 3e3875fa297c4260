#include "metrics/step_log.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <boost/json.hpp>
#include <filesystem>
#include <fstream>

#include "unit/metrics/event_script.h"

namespace takt::metrics {
namespace {

using std::chrono::milliseconds;

class StepLogTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = testing::TempDir() + "takt-step-log-" + testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove(path_);
  }
  void TearDown() override { std::filesystem::remove(path_); }

  std::vector<boost::json::value> lines() const {
    std::vector<boost::json::value> result;
    std::ifstream file(path_);
    for (std::string line; std::getline(file, line);) result.push_back(boost::json::parse(line));
    return result;
  }

  std::string path_;
};

TEST_F(StepLogTest, WritesOneLinePerCommittedStepAndNothingElse) {
  {
    auto log = StepLog::open(path_, {"a \"model\""}, at_ms(1000));
    ASSERT_TRUE(log) << log.error().message;
    auto committed = step(64, 2, milliseconds(40), milliseconds(42));
    committed.plan.id = StepId(7);
    committed.plan.budget = milliseconds(50);
    committed.plan.entries[0] = {SequenceId(3), EntryKind::kGenerate, 128, 64, true, true};
    committed.plan.drops.push_back({SequenceId(4), 32});
    committed.plan.waits.push_back({Tier::kRealtime, QueueKind::kUnstarted, WaitReason::kBlocks, 5});
    committed.running = 3;
    committed.waiting = 5;
    (*log)->publish({accepted(1000, 1), event(1042, committed), token(1042, 1)});
    (*log)->publish({event(1050, step(0, 1, milliseconds(5), milliseconds(5)))});
  }
  const auto all = lines();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].at("format"), "takt-step-log");
  EXPECT_EQ(all[0].at("models").at(0), "a \"model\"");
  const auto& first = all[1];
  EXPECT_EQ(first.at("step").to_number<int>(), 7);
  EXPECT_DOUBLE_EQ(first.at("at_seconds").to_number<double>(), 0.042);
  EXPECT_DOUBLE_EQ(first.at("predicted_seconds").to_number<double>(), 0.040);
  EXPECT_DOUBLE_EQ(first.at("measured_seconds").to_number<double>(), 0.042);
  EXPECT_DOUBLE_EQ(first.at("budget_seconds").to_number<double>(), 0.050);
  EXPECT_EQ(first.at("tokens").to_number<int>(), 66);
  EXPECT_EQ(first.at("entries").at(0).at("first_position").to_number<int>(), 128);
  EXPECT_EQ(first.at("drops").at(0).at("keep_tokens").to_number<int>(), 32);
  EXPECT_EQ(first.at("waits").at(0).at("reason"), "blocks");
  EXPECT_EQ(first.at("waiting").to_number<int>(), 5);
}

TEST_F(StepLogTest, ManyStepsArriveInOrderOrAreCountedAsDropped) {
  constexpr int kSteps = 20000;
  {
    auto log = StepLog::open(path_, {"model"}, at_ms(0));
    ASSERT_TRUE(log) << log.error().message;
    for (int i = 0; i < kSteps; ++i) {
      auto committed = step(0, 1, milliseconds(1), milliseconds(1));
      committed.plan.id = StepId(static_cast<std::uint64_t>(i));
      (*log)->publish({event(i, committed)});
    }
  }
  std::int64_t expected = 0;
  std::int64_t dropped = 0;
  for (const auto& line : lines()) {
    if (const auto* count = line.as_object().if_contains("dropped")) dropped += count->to_number<std::int64_t>();
    if (const auto* id = line.as_object().if_contains("step")) {
      EXPECT_GE(id->to_number<std::int64_t>(), expected);
      expected = id->to_number<std::int64_t>() + 1;
    }
  }
  const auto written = static_cast<std::int64_t>(lines().size());
  EXPECT_LE(written, kSteps + 1 + dropped);
  EXPECT_GE(written + dropped, kSteps + 1);
}

// F19: a file that names what people asked for belongs to its owner alone.
TEST_F(StepLogTest, TheFileIsReadableByItsOwnerOnly) {
  const auto log = StepLog::open(path_, {"model"}, at_ms(0));
  ASSERT_TRUE(log) << log.error().message;
  struct stat info {};
  ASSERT_EQ(::stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
}

TEST_F(StepLogTest, AFolderThatIsMissingIsAnErrorThatNamesThePath) {
  const auto log = StepLog::open("/nonexistent/steps.jsonl", {"model"}, at_ms(0));
  ASSERT_FALSE(log);
  EXPECT_EQ(log.error().code, ErrorCode::kIo);
  EXPECT_NE(log.error().message.find("/nonexistent/steps.jsonl"), std::string::npos);
}

TEST_F(StepLogTest, ADiskThatIsFullStopsTheLogAndNotTheServer) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "missing: /dev/full";
  const auto log = StepLog::open("/dev/full", {"model"}, at_ms(0));
  ASSERT_FALSE(log);
  EXPECT_NE(log.error().message.find("No space left"), std::string::npos) << log.error().message;
}

}  // namespace
}  // namespace takt::metrics
