#include "trace/capture.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <thread>
#include <utility>

#include "unit/trace/read_all.h"
#include "unit/trace/temporary_folder.h"

namespace takt::trace {
namespace {

using std::chrono::milliseconds;

constexpr std::int64_t kDayNanoseconds = 86'400'000'000'000;
constexpr std::int64_t kStartOfWall = 20'000 * kDayNanoseconds;

class CaptureTest : public testing::Test {
 protected:
  CaptureTest() {
    setting_.options.folder = folder_.file("capture");
    setting_.options.segment_bytes = 1 << 20;
    setting_.server = "takt test";
    setting_.gather = milliseconds(1);
    setting_.wall = [this] { return wall_.load(); };
    clock_.advance(std::chrono::seconds(100));
    request_.labels.tenant = "the-smiths";
    request_.labels.user = "anna";
    request_.labels.application = "chat";
    request_.prompt.resize(40);
    for (std::size_t i = 0; i < request_.prompt.size(); ++i) request_.prompt[i] = static_cast<TokenId>(i);
  }

  void open() {
    auto capture = Capture::open(setting_, clock_);
    ASSERT_TRUE(capture) << capture.error().message;
    capture_ = std::move(*capture);
  }

  void pass(Duration time) {
    clock_.advance(time);
    wall_ += time.count();
  }

  template <typename What>
  void happens(What what) {
    capture_->publish({{clock_.now(), std::move(what)}});
  }

  RequestId offer(RequestHints hints = {}) {
    request_.id = RequestId(next_id_++);
    request_.arrival = clock_.now();
    capture_->offered(
        {request_, hints, [](std::span<const TokenId> tokens) { return "tokens: " + std::to_string(tokens.size()); }});
    return request_.id;
  }

  // A request that gets `tokens` tokens, one every 10 ms.
  RequestId answer(std::uint32_t tokens, RequestHints hints = {}) {
    const RequestId id = offer(hints);
    pass(milliseconds(5));
    happens(Accepted{id, {}, request_.labels, request_.targets, request_.arrival, 40, 1});
    pass(milliseconds(5));
    happens(Admitted{id, 16, PrefixMiss::kNew});
    happens(Seated{id, 0, 16, {}});
    for (std::uint32_t i = 0; i < tokens; ++i) {
      pass(milliseconds(10));
      happens(TokenSampled{id, 0, i, {}});
    }
    happens(ChoiceFinished{id, 0, FinishReason::kStop, tokens, {}});
    happens(Closed{id, RequestPhase::kDecode, FinishReason::kStop, 1, 16, 2, {}, 3});
    pass(milliseconds(1));
    happens(Delivered{id, AnswerOutcome::kAnswered});
    return id;
  }

  std::vector<Record> written() {
    capture_->stop();
    WholeTrace trace = read_all(setting_.options.folder);
    EXPECT_EQ(trace.error, "");
    expect_counts_reconcile(trace.counts);
    return std::move(trace.records);
  }

  const TemporaryFolder folder_;
  ManualClock clock_;
  std::atomic<std::int64_t> wall_{kStartOfWall};
  Capture::Setting setting_;
  EngineRequest request_;
  std::uint64_t next_id_ = 7;
  std::unique_ptr<Capture> capture_;
};

TEST_F(CaptureTest, AnAnsweredRequestIsKeptWithItsInstantsAndCounts) {
  open();
  pass(milliseconds(1000));
  request_.sampling.temperature = 0.0F;
  RequestHints hints;
  hints.model = "m";
  hints.task = "rag";
  hints.stream = true;
  hints.max_tokens = 99;
  answer(3, hints);
  const auto records = written();
  ASSERT_EQ(records.size(), 1);
  const Record& record = records[0];
  EXPECT_EQ(record.request, 7);
  EXPECT_EQ(record.arrival, milliseconds(1000));
  EXPECT_EQ(record.wall_nanoseconds, kStartOfWall + 1'000'000'000);
  EXPECT_EQ(record.application, "chat");
  EXPECT_EQ(record.service_class, "chat");
  EXPECT_EQ(record.tier, Tier::kRealtime);
  EXPECT_EQ(record.task, "rag");
  EXPECT_EQ(record.model, "m");
  EXPECT_EQ(record.stream, true);
  EXPECT_EQ(record.max_tokens, 99);
  EXPECT_EQ(record.sampling, SamplingKind::kGreedy);
  EXPECT_EQ(record.targets.ttft, milliseconds(1000));
  EXPECT_EQ(record.targets.completion, std::nullopt);
  EXPECT_EQ(record.prompt_tokens, 40);
  EXPECT_EQ(record.cached_tokens, 16);
  EXPECT_EQ(record.output_tokens, 3);
  EXPECT_EQ(record.preemptions, 2);
  EXPECT_EQ(record.chunks, 3);
  EXPECT_EQ(record.blocks.block_tokens, 16);
  EXPECT_EQ(record.blocks.hashes.size(), 2);  // whole blocks
  EXPECT_EQ(record.outcome, Outcome::kFinished);
  EXPECT_EQ(record.finish, FinishReason::kStop);
  EXPECT_EQ(record.timings,
            (Timings{milliseconds(5), milliseconds(10), milliseconds(20), milliseconds(40), milliseconds(40), {}}));
  EXPECT_EQ(record.session, "");
  EXPECT_EQ(record.turn, std::nullopt);
}

TEST_F(CaptureTest, NamesAreKeyedHashesAndTextIsNeverThereUnlessAskedFor) {
  open();
  answer(3);
  const Record first = written().at(0);
  EXPECT_EQ(first.tenant.size(), 16);
  EXPECT_NE(first.tenant, first.user);
  EXPECT_EQ(first.prompt_text, std::nullopt);
  EXPECT_EQ(first.answer_text, std::nullopt);
  for (const auto& entry : std::filesystem::directory_iterator(setting_.options.folder)) {
    std::ifstream in(entry.path());
    const std::string content{std::istreambuf_iterator<char>(in), {}};
    EXPECT_EQ(content.find("smith"), std::string::npos) << entry.path();
    EXPECT_EQ(content.find("anna"), std::string::npos) << entry.path();
  }
}

TEST_F(CaptureTest, TextIsKeptWhereThatIsAskedFor) {
  setting_.options.text = true;
  open();
  answer(3);
  const Record record = written().at(0);
  EXPECT_EQ(record.prompt_text, "tokens: 40");
  EXPECT_EQ(record.answer_text, "tokens: 3");
}

TEST_F(CaptureTest, TheSecretStaysSoThatNamesAndPrefixesStayTheSameAcrossRuns) {
  open();
  answer(1);
  capture_->stop();
  capture_.reset();
  pass(std::chrono::hours(1));
  open();
  answer(1);
  const auto records = written();
  ASSERT_EQ(records.size(), 2);
  EXPECT_EQ(records[0].tenant, records[1].tenant);
  EXPECT_EQ(records[0].blocks, records[1].blocks);
  EXPECT_EQ(records[1].arrival, std::chrono::hours(1) + milliseconds(21));
  struct stat info {};
  ASSERT_EQ(::stat((setting_.options.folder + "/capture.key").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600);
}

TEST_F(CaptureTest, AnotherFolderHasAnotherSecret) {
  open();
  answer(1);
  const Record here = written().at(0);
  capture_.reset();
  setting_.options.folder = folder_.file("other");
  open();
  answer(1);
  const Record there = written().at(0);
  EXPECT_NE(here.tenant, there.tenant);
  EXPECT_NE(here.blocks, there.blocks);
}

TEST_F(CaptureTest, EqualBeginningsHaveEqualHashesInOneScopeOnly) {
  open();
  answer(1);
  request_.prompt[39] = 1000;
  answer(1);
  request_.prompt[16] = 1000;
  answer(1);
  request_.cache_salt = 5;
  answer(1);
  const auto records = written();
  ASSERT_EQ(records.size(), 4);
  EXPECT_EQ(records[1].blocks, records[0].blocks);  // the 40th token is in no whole block
  EXPECT_EQ(records[2].blocks.hashes[0], records[0].blocks.hashes[0]);
  EXPECT_NE(records[2].blocks.hashes[1], records[0].blocks.hashes[1]);
  EXPECT_NE(records[3].blocks.hashes[0], records[2].blocks.hashes[0]);
}

// Without those that were not served, a replay asks for what the old settings could carry.
TEST_F(CaptureTest, RefusedFailedExpiredAndCancelledRequestsAreKept) {
  open();
  RequestLabels labels;
  capture_->refused({{}, clock_.now(), labels, ErrorCode::kUnavailable, {}, 4000});

  const RequestId at_the_engines_door = offer();
  pass(milliseconds(3));
  capture_->refused({at_the_engines_door, request_.arrival, labels, ErrorCode::kContextLength, {}, 0});
  happens(Delivered{at_the_engines_door, AnswerOutcome::kFailed});

  const auto ends = [&](FinishReason reason, ErrorCode code, AnswerOutcome outcome) {
    const RequestId id = offer();
    pass(milliseconds(2));
    happens(Delivered{id, outcome});
    happens(ChoiceFinished{id, 0, reason, 0, {code, "", ""}});
    happens(Closed{id, RequestPhase::kQueued, reason, 0, 0, 0, {}});
  };
  ends(FinishReason::kFailed, ErrorCode::kInternal, AnswerOutcome::kFailed);
  ends(FinishReason::kExpired, ErrorCode::kExpired, AnswerOutcome::kFailed);
  ends(FinishReason::kCancelled, ErrorCode::kCancelled, AnswerOutcome::kClientGone);

  const auto records = written();
  ASSERT_EQ(records.size(), 5);
  EXPECT_EQ(records[0].outcome, Outcome::kRefused);
  EXPECT_EQ(records[0].error, "unavailable");
  EXPECT_EQ(records[0].prompt_tokens, 1000);  // by its bytes: nobody counted
  EXPECT_EQ(records[0].blocks, PromptBlocks{});
  EXPECT_EQ(records[1].outcome, Outcome::kRefused);
  EXPECT_EQ(records[1].error, "context_length_exceeded");
  EXPECT_EQ(records[1].prompt_tokens, 40);
  EXPECT_EQ(records[1].timings.ended, milliseconds(3));
  EXPECT_EQ(records[2].outcome, Outcome::kFailed);
  EXPECT_EQ(records[2].error, "internal");
  EXPECT_EQ(records[3].outcome, Outcome::kRefused);
  EXPECT_EQ(records[3].error, "expired");
  EXPECT_EQ(records[4].outcome, Outcome::kCancelled);
  EXPECT_EQ(records[4].timings.cancelled, milliseconds(2));
  EXPECT_EQ(capture_->counts().written, 5);
}

TEST_F(CaptureTest, TurnsOfASessionAreLinkedWithTheTimeBetweenThem) {
  open();
  RequestHints hints;
  hints.session = "s1";
  const RequestId first = answer(1, hints);
  pass(milliseconds(400));
  answer(1, hints);
  request_.labels.user = "ben";  // his session of that name is another
  answer(1, hints);
  const auto records = written();
  ASSERT_EQ(records.size(), 3);
  EXPECT_EQ(records[0].turn, 0);
  EXPECT_EQ(records[0].parent, std::nullopt);
  EXPECT_EQ(records[0].think_time, std::nullopt);
  EXPECT_EQ(records[1].turn, 1);
  EXPECT_EQ(records[1].parent, first.value);
  EXPECT_EQ(records[1].think_time, milliseconds(401));
  EXPECT_EQ(records[1].session, records[0].session);
  EXPECT_EQ(records[2].turn, 0);
  EXPECT_NE(records[2].session, records[0].session);
}

// F17: as when a drain ends it.
TEST_F(CaptureTest, WhatIsAliveWhenTheServerEndsIsKeptAsFailedByIt) {
  open();
  offer();
  const auto records = written();
  ASSERT_EQ(records.size(), 1);
  EXPECT_EQ(records[0].outcome, Outcome::kFailed);
  EXPECT_EQ(records[0].error, "unavailable");
  EXPECT_EQ(records[0].finish, FinishReason::kFailed);
  EXPECT_TRUE(records[0].timings.ended);
  EXPECT_EQ(records[0].timings.cancelled, std::nullopt);
}

// Crash-safe: a record is on the disk within a second of its end, whatever becomes of the process.
TEST_F(CaptureTest, ARecordIsOnTheDiskSoonAfterItsEndWithoutAnyStop) {
  open();
  answer(1);
  while (capture_->counts().written == 0) std::this_thread::yield();
  EXPECT_EQ(read_all(setting_.options.folder).records.size(), 1);
}

TEST_F(CaptureTest, SegmentsAreClosedBySizeAndByDayAndTheirHeadsSayWhatTheyAre) {
  open();
  capture_->describe(R"({"options":{}})", {{"m", 512}});
  request_.prompt.resize(16 * 4096);
  const auto answer_and_wait = [&] {
    const auto before = capture_->counts().written;
    answer(1);
    while (capture_->counts().written == before) std::this_thread::yield();
  };
  for (int i = 0; i < 20; ++i) answer_and_wait();  // of 64 KiB each
  pass(std::chrono::hours(24));
  answer_and_wait();
  EXPECT_EQ(written().size(), 21);
  std::size_t segments = 0;
  for (const auto& entry : std::filesystem::directory_iterator(setting_.options.folder)) {
    if (entry.path().extension() != ".jsonl") continue;
    ++segments;
    EXPECT_LE(entry.file_size(), (1u << 20) + (1u << 17));
    const WholeTrace segment = read_all(entry.path().string());
    EXPECT_EQ(segment.origin.server, "takt test");
    EXPECT_EQ(segment.origin.configuration, R"({"kv_blocks":{"m":512},"settings":{"options":{}}})");
  }
  EXPECT_EQ(segments, 3);
}

TEST_F(CaptureTest, OldSegmentsAreDeletedAndNothingElseIs) {
  setting_.options.days = 7;
  open();
  answer(1);
  capture_.reset();
  const auto put = [&](const char* name, const char* content) {
    std::ofstream(std::filesystem::path(setting_.options.folder) / name) << content;
  };
  put("capture-notes.jsonl", "mine\n");
  put("other.jsonl", R"({"format":"takt-trace")"
                     "\n");
  wall_ = system_wall_nanoseconds() + 6 * kDayNanoseconds;  // files' times are the system's
  open();
  answer(1);
  EXPECT_EQ(capture_->counts().lost_to_disk, 0);
  capture_.reset();
  const auto count = [&] {
    std::size_t files = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(setting_.options.folder)) ++files;
    return files;
  };
  EXPECT_EQ(count(), 5);  // the secret, two segments, two that are none
  wall_ = system_wall_nanoseconds() + 8 * kDayNanoseconds;
  open();
  EXPECT_EQ(count(), 3);
}

TEST_F(CaptureTest, TheOldestSegmentsGoWhenAllOfThemAreTooLarge) {
  setting_.options.total_bytes = 3 << 20;
  open();
  request_.prompt.resize(16 * 4096);
  for (int i = 0; i < 80; ++i) {
    const auto before = capture_->counts().written;
    answer(1);
    while (capture_->counts().written == before) std::this_thread::yield();
  }
  capture_.reset();
  std::uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(setting_.options.folder)) bytes += entry.file_size();
  EXPECT_LE(bytes, (4u << 20) + (1u << 18));  // the one that grows comes on top
  EXPECT_GE(bytes, 2u << 20);
}

// Disk full: serving goes on, and what is lost is counted.
TEST_F(CaptureTest, WhatTheDiskDoesNotTakeIsCountedAndCapturingGoesOnLater) {
  open();
  const std::filesystem::path folder = setting_.options.folder;
  const std::filesystem::path away = folder_.path() / "away";
  std::filesystem::rename(folder, away);  // no segment can be made
  answer(1);
  while (capture_->counts().lost_to_disk == 0) std::this_thread::yield();
  EXPECT_EQ(capture_->counts().written, 0);
  std::filesystem::rename(away, folder);
  answer(1);
  EXPECT_EQ(written().size(), 1);
  EXPECT_EQ(capture_->counts().written, 1);
  EXPECT_EQ(capture_->counts().lost_to_disk, 1);
}

// A real write error, in the middle of a line: a file that may not grow stands for a disk that is full.
TEST_F(CaptureTest, ALineThatFitsInPartOnlyIsLostInWholeAndCounted) {
  open();
  answer(1);
  while (capture_->counts().written == 0) std::this_thread::yield();
  std::uintmax_t size = 0;
  for (const auto& entry : std::filesystem::directory_iterator(setting_.options.folder)) {
    if (entry.path().extension() == ".jsonl") size = entry.file_size();
  }
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlim_t soft = std::exchange(limit.rlim_cur, size + 100);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  for (std::uint64_t lost = 1; lost <= 3; ++lost) {
    answer(1);
    while (capture_->counts().lost_to_disk < lost) std::this_thread::yield();
  }
  limit.rlim_cur = soft;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::signal(SIGXFSZ, before);
  answer(1);
  EXPECT_EQ(written().size(), 2) << "no half line is there";
  EXPECT_EQ(capture_->counts().written, 2);
  EXPECT_EQ(capture_->counts().lost_to_disk, 3);
}

TEST_F(CaptureTest, OneProcessCapturesIntoAFolder) {
  open();
  const auto second = Capture::open(setting_, clock_);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("another process captures into this folder"), std::string::npos);
}

TEST_F(CaptureTest, ASecretThatOthersCanReadOrThatIsNoneIsRefused) {
  open();
  capture_.reset();
  const std::filesystem::path key = std::filesystem::path(setting_.options.folder) / "capture.key";
  std::filesystem::permissions(key, std::filesystem::perms(0644));
  EXPECT_NE(Capture::open(setting_, clock_).error().message.find("chmod 600"), std::string::npos);
  std::filesystem::permissions(key, std::filesystem::perms(0600));
  std::ofstream(key) << "short";
  EXPECT_NE(Capture::open(setting_, clock_).error().message.find("32 hexadecimal digits"), std::string::npos);
}

TEST_F(CaptureTest, ManyThreadsOfferAndRefuseAtOnce) {
  open();
  constexpr int kThreads = 4;
  constexpr std::uint64_t kEach = 200;
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      EngineRequest request = request_;
      for (std::uint64_t i = 0; i < kEach; ++i) {
        request.id = RequestId(1 + t * kEach + i);
        request.arrival = clock_.now();
        capture_->offered({request, {}, [](std::span<const TokenId>) { return std::string(); }});
        if (i % 2 == 0) {
          capture_->refused({request.id, request.arrival, request.labels, ErrorCode::kUnavailable, {}, 0});
        } else {
          capture_->publish(
              {{clock_.now(), Closed{request.id, RequestPhase::kDecode, FinishReason::kStop, 0, 0, 0, {}}},
               {clock_.now(), Delivered{request.id, AnswerOutcome::kAnswered}}});
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(written().size(), kThreads * kEach);
}

}  // namespace
}  // namespace takt::trace
