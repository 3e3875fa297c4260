// Answers of a batch under a handler that refuses, drops and breaks off.
#include "batch_run.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <string>

namespace takt::app {
namespace {

http::Response response_of(int status) {
  http::Response response;
  response.status = status;
  response.body = status == 200 ? R"({"usage":{"prompt_tokens":3,"completion_tokens":2}})" : R"({"error":{}})";
  return response;
}

// Keeps up to `room` requests; more are told to come back later.
class Handler final : public http::Handler {
 public:
  explicit Handler(std::size_t room) : room_(room) {}

  void handle(http::Request request, std::shared_ptr<http::Responder> responder) override {
    most_ = std::max(most_, waiting_.size() + 1);
    ++times_[request.body];
    if (waiting_.size() >= room_) return responder->send(response_of(429));
    waiting_.push_back(std::move(responder));
  }
  // Called between two looks of the run.
  void answer_oldest() {
    if (waiting_.empty()) return;
    const auto responder = std::move(waiting_.front());
    waiting_.pop_front();
    responder->send(response_of(200));
  }
  std::size_t most() const { return most_; }
  const std::map<std::string, int>& times() const { return times_; }

 private:
  const std::size_t room_;
  std::size_t most_ = 0;
  std::map<std::string, int> times_;
  std::deque<std::shared_ptr<http::Responder>> waiting_;
};

BatchRun::Next requests(std::uint64_t count) {
  return [count, line = std::uint64_t{0}]() mutable -> Result<std::optional<BatchRequest>> {
    if (line == count) return std::optional<BatchRequest>();
    ++line;
    return std::optional(BatchRequest{line, "r" + std::to_string(line), "/v1/completions", std::to_string(line)});
  };
}

TEST(BatchRun, SendsAgainWhatWasToldToComeBackLater) {
  Handler handler(3);
  BatchRun run(handler, {}, 8);
  std::vector<std::string> kept;
  const Status status = run.run(
      requests(20),
      [&](const std::string& line) {
        kept.push_back(line);
        return Status();
      },
      [&] {
        handler.answer_oldest();
        return false;
      });
  ASSERT_TRUE(status);
  EXPECT_EQ(kept.size(), 20U);
  EXPECT_EQ(run.counts().answered, 20U);
  EXPECT_EQ(run.counts().failed, 0U);
  EXPECT_EQ(run.counts().prompt_tokens, 60U);
  EXPECT_EQ(run.counts().output_tokens, 40U);
  EXPECT_LE(handler.most(), 8U);
  EXPECT_EQ(handler.times().size(), 20U);
}

// Nothing is under way that could make room, so waiting would never end; and it is no answer that could be kept.
TEST(BatchRun, EndsWhenRequestsArePutOffThoughNothingIsUnderWay) {
  Handler handler(0);
  BatchRun run(handler, {}, 3);
  const Status status = run.run(
      requests(5),
      [](const std::string& line) {
        ADD_FAILURE() << line;
        return Status();
      },
      [] { return false; });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kUnavailable);
  EXPECT_FALSE(run.complete());
}

TEST(BatchRun, AnswersWhatIsUnderWayWhenTheFileFailsOrAStopIsAsked) {
  for (const bool fails : {true, false}) {
    Handler handler(8);
    BatchRun run(handler, {}, 4);
    std::uint64_t sent = 0;
    std::size_t kept = 0;
    auto all = requests(50);
    const Status status = run.run(
        [&]() -> Result<std::optional<BatchRequest>> {
          if (fails && sent == 3) return Error::invalid("line 4", "garbage");
          ++sent;
          return all();
        },
        [&](const std::string&) {
          ++kept;
          return Status();
        },
        [&] {
          handler.answer_oldest();
          return !fails && kept > 0;
        });
    EXPECT_EQ(status.ok(), !fails);
    EXPECT_EQ(kept, sent);
    EXPECT_FALSE(run.complete());
  }
}

class Careless final : public http::Handler {
 public:
  void handle(http::Request request, std::shared_ptr<http::Responder> responder) override {
    if (request.body == "1") return;  // drops it
    if (request.body == "2") return responder->abort();
    responder->begin_stream(200, "text/event-stream", {});
  }
};

TEST(BatchRun, EveryRequestHasAnAnswerWhateverTheHandlerDoes) {
  Careless handler;
  BatchRun run(handler, {}, 2);
  std::size_t kept = 0;
  ASSERT_TRUE(run.run(
      requests(3),
      [&](const std::string& line) {
        EXPECT_NE(line.find(R"("status_code":500)"), std::string::npos);
        ++kept;
        return Status();
      },
      [] { return false; }));
  EXPECT_EQ(kept, 3U);
}

TEST(BatchRun, EndsWithTheErrorOfTheFileThatCannotBeWritten) {
  Handler handler(8);
  BatchRun run(handler, {}, 2);
  const Status status = run.run(
      requests(5),
      [](const std::string&) {
        return Status(Error{ErrorCode::kIo, "disk full", {}});
      },
      [&] {
        handler.answer_oldest();
        return false;
      });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "disk full");
}

}  // namespace
}  // namespace takt::app
