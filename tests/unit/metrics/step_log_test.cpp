// The step log as a file: rotation, disks and readers that fail, and what is kept when not all can be.
#include "metrics/step_log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "metrics/step_log_reader.h"
#include "unit/metrics/event_script.h"

namespace takt::metrics {
namespace {

using std::chrono::milliseconds;

// A scheduler's calls, one step after the other: one sequence decodes for ever, and now and then another one comes.
class Recording {
 public:
  Recording(StepLog& log, ModelIndex model = {}) : tape_(log.tape(model, {1e-3, 1e-4, 1e-8})), model_(model) {
    CapacityView memory;
    memory.geometry = block_geometry(std::vector<KvGroupInfo>{{16, 100, 1}});
    memory.total.blocks[0] = 100;
    tape_.started({}, memory, at_ms(1000));
    add();
  }

  SchedulerTape& tape() { return tape_; }

  void add() {
    SequenceFacts facts;
    facts.id = SequenceId(++last_);
    facts.prompt_tokens = 4;
    facts.limit_tokens = 1000;
    tape_.added(facts, RequestId(last_), 0, at_ms(1000 + now_));
  }

  void step() {
    StepPlan plan;
    plan.id = StepId(++steps_);
    plan.model = model_;
    plan.predicted = milliseconds(10);
    plan.budget = milliseconds(50);
    plan.waits.push_back({Tier::kBatch, QueueKind::kUnstarted, WaitReason::kBlocks, 5,
                          ClassIndex(static_cast<std::uint32_t>(2 + steps_ / 20))});
    const bool first = position_ == 0;
    const std::uint32_t count = first ? 4 : 1;
    plan.entries.push_back({SequenceId(1), EntryKind::kGenerate, position_, count, true, first, position_ + count});
    plan.features = {count, first ? 0U : 1U, 0, 1, attended_by(position_, count)};
    CapacityView view;
    view.free.blocks[0] = 100 - position_ / 16;
    tape_.planned(view, plan, at_ms(1000 + now_));
    now_ += 10;
    position_ += count;
    const SequenceProgress progress{SequenceId(1), position_ + 1, position_};
    tape_.committed({&progress, 1}, milliseconds(10), true, at_ms(1000 + now_));
  }

 private:
  SchedulerTape& tape_;
  const ModelIndex model_;
  int now_ = 0;
  std::uint64_t last_ = 0;
  std::uint64_t steps_ = 0;
  std::uint32_t position_ = 0;
};

class StepLogTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = testing::TempDir() + "takt-step-log-" + testing::UnitTest::GetInstance()->current_test_info()->name();
    remove_all();
    std::signal(SIGPIPE, SIG_IGN);  // as in takt
  }
  void TearDown() override { remove_all(); }
  void remove_all() {
    std::filesystem::remove(path_);
    for (int i = 1; i < 100; ++i) std::filesystem::remove(path_ + "." + std::to_string(i));
  }

  StepLogOptions options(std::size_t file_bytes = 1 << 20, std::size_t files = 4) const {
    return {path_, file_bytes, files};
  }

  std::vector<StepRecord> records() const {
    std::vector<StepRecord> all;
    auto reader = StepLogReader::open(path_);
    EXPECT_TRUE(reader) << reader.error().message;
    if (!reader) return all;
    for (;;) {
      auto record = reader->next();
      EXPECT_TRUE(record) << record.error().message;
      if (!record || !record->has_value()) return all;
      all.push_back(std::move(**record));
    }
  }

  template <typename What>
  static std::vector<What> only(const std::vector<StepRecord>& records) {
    std::vector<What> found;
    for (const StepRecord& record : records) {
      if (const auto* what = std::get_if<What>(&record.what)) found.push_back(*what);
    }
    return found;
  }

  std::string path_;
};

TEST_F(StepLogTest, ReadsBackWhatWasRecorded) {
  {
    auto log = StepLog::open(options(), {"a \"model\""}, 7);
    ASSERT_TRUE(log) << log.error().message;
    Recording recording(**log);
    for (int i = 0; i < 40; ++i) recording.step();
  }
  EXPECT_EQ(StepLogReader::open(path_)->models(), std::vector<std::string>{"a \"model\""});
  const auto all = records();
  const auto started = only<EngineStarted>(all);
  ASSERT_EQ(started.size(), 1u);
  EXPECT_EQ(started[0].memory.total.blocks[0], 100u);
  EXPECT_EQ(started[0].memory.geometry.block_tokens[0], 16u);
  EXPECT_EQ(started[0].terms, (StepTimeTermValues{1e-3, 1e-4, 1e-8}));
  const auto plans = only<StepPlanned>(all);
  const auto steps = only<StepDone>(all);
  ASSERT_EQ(plans.size(), 40u);
  ASSERT_EQ(steps.size(), 40u);
  EXPECT_EQ(plans[0].plan.entries[0].token_count, 4u);
  EXPECT_TRUE(plans[0].plan.entries[0].admits);
  for (std::uint32_t i = 1; i < 40; ++i) {
    const StepPlan& plan = plans[i].plan;
    EXPECT_EQ(plan.id, StepId(i + 1));
    EXPECT_EQ(plan.budget, milliseconds(50));
    ASSERT_EQ(plan.waits.size(), 1u);
    EXPECT_EQ(plan.waits[0].tier, Tier::kBatch);
    EXPECT_EQ(plan.waits[0].reason, WaitReason::kBlocks);
    EXPECT_EQ(plan.waits[0].requests, 5u);
    EXPECT_EQ(plan.waits[0].service_class, ClassIndex(2 + (i + 1) / 20));
    ASSERT_EQ(plan.entries.size(), 1u);
    EXPECT_EQ(plan.entries[0].first_position, i + 3);
    EXPECT_EQ(plan.entries[0].cover_tokens, i + 4);
    EXPECT_EQ(plan.features.attended_positions, i + 4);
    EXPECT_EQ(plans[i].view.free.blocks[0], 100 - (i + 3) / 16);
    EXPECT_EQ(steps[i].progress[0].known, i + 5);
    EXPECT_EQ(steps[i].measured, milliseconds(10));
  }
  EXPECT_EQ(all.back().at, at_ms(1400));
}

// What changes while the server runs is an input of later plans too: options with their classes, and reserves.
TEST_F(StepLogTest, ReadsBackOptionsAndReservesThatChange) {
  SchedulerOptions options_then;
  options_then.max_sequences = 7;
  options_then.planning_margin = 0.123456789012345;
  options_then.window = {4, 0.25, milliseconds(30), false};
  options_then.admission = AdmissionRule::kPredicted;
  EngineClass night;
  night.limits.tier = Tier::kBatch;
  night.limits.ceiling.seats = 3;
  night.queue.max_waiting = 9;
  options_then.classes = {EngineClass{}, night};
  {
    auto log = StepLog::open(options(), {"model"}, 7);
    ASSERT_TRUE(log);
    Recording recording(**log);
    recording.step();
    recording.tape().reconfigured(options_then, at_ms(1015));
    recording.tape().reserve_set(SequenceId(1), 48, at_ms(1015));
  }
  const auto all = records();
  const auto changed = only<OptionsChanged>(all);
  ASSERT_EQ(changed.size(), 1u);
  const SchedulerOptions& read = changed[0].options;
  EXPECT_EQ(read.max_sequences, 7u);
  EXPECT_EQ(read.planning_margin, 0.123456789012345);
  EXPECT_EQ(read.window.max_wait, milliseconds(30));
  EXPECT_EQ(read.window.served_ratio, 0.25);
  EXPECT_FALSE(read.window.adaptive);
  EXPECT_EQ(read.admission, AdmissionRule::kPredicted);
  EXPECT_EQ(read.step_target, SchedulerOptions{}.step_target);
  ASSERT_EQ(read.classes.size(), 2u);
  EXPECT_EQ(read.classes[1].limits.tier, Tier::kBatch);
  EXPECT_EQ(read.classes[1].limits.ceiling.seats, 3u);
  EXPECT_EQ(read.classes[1].queue.max_waiting, 9u);
  const auto reserves = only<ReserveSet>(all);
  ASSERT_EQ(reserves.size(), 1u);
  EXPECT_EQ(reserves[0].tokens, 48u);
  EXPECT_EQ(all.back().at, at_ms(1015));
}

TEST_F(StepLogTest, AStepOfRunningStreamsTakesFewBytes) {
  constexpr int kSteps = 1000;
  {
    auto log = StepLog::open(options(), {"model"}, 7);
    ASSERT_TRUE(log);
    Recording recording(**log);
    for (int i = 0; i < kSteps; ++i) recording.step();
  }
  EXPECT_LT(std::filesystem::file_size(path_), 80u * kSteps);
}

TEST_F(StepLogTest, FilesAreBoundedAndTheOldestGo) {
  {
    auto log = StepLog::open(options(4000, 3), {"model"}, 7);
    ASSERT_TRUE(log);
    Recording recording(**log);
    for (int i = 0; i < 1000; ++i) recording.step();
  }
  for (const char* age : {"", ".1", ".2"}) EXPECT_LT(std::filesystem::file_size(path_ + age), 5000u) << age;
  EXPECT_FALSE(std::filesystem::exists(path_ + ".3"));
  EXPECT_FALSE(StepLogReader::open(path_)->from_the_start());
  const auto plans = only<StepPlanned>(records());
  ASSERT_FALSE(plans.empty());
  for (std::size_t i = 1; i < plans.size(); ++i) EXPECT_EQ(plans[i].plan.id.value, plans[i - 1].plan.id.value + 1);
  EXPECT_EQ(plans.back().plan.id, StepId(1000));
  EXPECT_EQ(plans.front().plan.entries.at(0).first_position, plans.front().plan.id.value + 2) << "files stand alone";
}

TEST_F(StepLogTest, AnEarlierRunsLogIsPutAsideAndNotReadAsThisOnes) {
  for (std::int64_t run = 1; run <= 2; ++run) {
    auto log = StepLog::open(options(), {"model"}, run);
    ASSERT_TRUE(log);
    Recording recording(**log);
    for (int i = 0; i < 5; ++i) recording.step();
  }
  EXPECT_TRUE(std::filesystem::exists(path_ + ".1"));
  EXPECT_EQ(only<StepPlanned>(records()).size(), 5u);
}

TEST_F(StepLogTest, StepsOfSeveralModelsAreKeptApart) {
  {
    auto log = StepLog::open(options(3000, 50), {"one", "two"}, 7);
    ASSERT_TRUE(log);
    Recording one(**log);
    Recording two(**log, ModelIndex(1));
    for (int i = 0; i < 100; ++i) {
      one.step();
      if (i % 3 == 0) two.step();
    }
  }
  std::uint64_t last[2] = {};
  for (const StepRecord& record : records()) {
    const auto* planned = std::get_if<StepPlanned>(&record.what);
    if (planned == nullptr) continue;
    EXPECT_EQ(planned->plan.id.value, ++last[record.model.value]);
    EXPECT_EQ(planned->plan.entries.at(0).first_position, planned->plan.id.value == 1 ? 0 : planned->plan.id.value + 2);
  }
  EXPECT_EQ(last[0], 100u);
  EXPECT_EQ(last[1], 34u);
}

// F19: a file that tells who asked for what belongs to its owner alone.
TEST_F(StepLogTest, TheFileIsReadableByItsOwnerOnly) {
  const auto log = StepLog::open(options(), {"model"}, 7);
  ASSERT_TRUE(log) << log.error().message;
  struct stat info {};
  ASSERT_EQ(::stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
}

TEST_F(StepLogTest, AFolderThatIsMissingIsAnErrorThatNamesThePath) {
  const auto log = StepLog::open({"/nonexistent/steps.jsonl"}, {"model"}, 7);
  ASSERT_FALSE(log);
  EXPECT_EQ(log.error().code, ErrorCode::kIo);
  EXPECT_NE(log.error().message.find("/nonexistent/steps.jsonl"), std::string::npos);
}

TEST_F(StepLogTest, ADiskThatIsFullStopsTheLogAndNotTheServer) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "missing: /dev/full";
  const auto log = StepLog::open({"/dev/full"}, {"model"}, 7);
  ASSERT_FALSE(log);
  EXPECT_NE(log.error().message.find("No space left"), std::string::npos) << log.error().message;
}

TEST_F(StepLogTest, APipeThatNobodyReadsIsAnErrorAndNotAWait) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  const auto log = StepLog::open(options(), {"model"}, 7);
  ASSERT_FALSE(log);
  EXPECT_NE(log.error().message.find("nobody reads it"), std::string::npos) << log.error().message;
}

// The engine goes on, nothing waits, memory stays bounded; what was lost is said where it is missing.
TEST_F(StepLogTest, APipeWhoseReaderStopsCostsRecordsAndNothingElse) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  const int reader = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  {
    auto log = StepLog::open(options(), {"model"}, 7);
    ASSERT_TRUE(log) << log.error().message;
    Recording recording(**log);
    for (int i = 0; i < 200'000; ++i) recording.step();
    std::string text;
    char piece[65536];
    // Everything that was kept comes, then what is recorded now that there is room.
    while (text.find("\"lost\":") == std::string::npos) {
      const ssize_t got = ::read(reader, piece, sizeof piece);
      if (got > 0) text.append(piece, static_cast<std::size_t>(got));
      if (got <= 0) {
        recording.add();
        recording.step();
        std::this_thread::yield();
      }
      if (text.size() > (1 << 20)) text.erase(0, text.size() - 4096);
    }
  }
  ::close(reader);
}

TEST_F(StepLogTest, AReaderThatGoesAwayEndsTheLogOnly) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  const int reader = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  auto log = StepLog::open(options(), {"model"}, 7);
  ASSERT_TRUE(log);
  ::close(reader);
  Recording recording(**log);
  for (int i = 0; i < 20'000; ++i) recording.step();
}

TEST_F(StepLogTest, ALastLineThatWasCutOffIsTheEnd) {
  {
    auto log = StepLog::open(options(), {"model"}, 7);
    ASSERT_TRUE(log);
    Recording recording(**log);
    for (int i = 0; i < 5; ++i) recording.step();
  }
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 7);
  EXPECT_EQ(only<StepPlanned>(records()).size(), 5u);
  EXPECT_EQ(only<StepDone>(records()).size(), 4u);
}

TEST_F(StepLogTest, WhatIsNoStepLogIsNotRead) {
  std::ofstream(path_) << "{\"format\":\"takt-step-log\",\"version\":2,\"models\":[]}\n";
  const auto old = StepLogReader::open(path_);
  ASSERT_FALSE(old);
  EXPECT_NE(old.error().message.find("no step log of version 3"), std::string::npos);
  std::ofstream(path_) << "hello";
  EXPECT_FALSE(StepLogReader::open(path_));
  EXPECT_FALSE(StepLogReader::open(path_ + ".missing"));
}

}  // namespace
}  // namespace takt::metrics
