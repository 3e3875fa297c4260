// Sends the requests of a file to a handler, so many at a time, and collects the answers.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "batch_file.h"
#include "http/handler.h"

namespace takt::app {

struct BatchCounts {
  std::uint64_t answered = 0;
  std::uint64_t failed = 0;  // of them, with another status than 200
  std::uint64_t prompt_tokens = 0;
  std::uint64_t output_tokens = 0;
};

// One run, from one thread. An answer that says "come back later" (429, 503) is not kept: its request is sent again
// when others have ended.
class BatchRun {
 public:
  using Next = std::function<Result<std::optional<BatchRequest>>()>;
  using Keep = std::function<Status(const std::string& line)>;

  // `headers` go with every request. At most `in_flight` requests are with the handler at once.
  BatchRun(http::Handler& handler, http::Headers headers, std::size_t in_flight);
  ~BatchRun();
  BatchRun(const BatchRun&) = delete;
  BatchRun& operator=(const BatchRun&) = delete;

  // Works until next() has nothing more and all is answered. Once stop() is true, or next() has failed, nothing new is
  // sent, and what is under way is still answered. Errors: those of next() and keep(); kUnavailable when the handler
  // puts requests off though nothing is under way.
  Status run(const Next& next, const Keep& keep, const std::function<bool()>& stop);

  const BatchCounts& counts() const { return counts_; }
  // Whether every request of next() has its answer.
  bool complete() const { return complete_; }

 private:
  class Answer;
  using Outcome = std::pair<BatchRequest, http::Response>;

  // Where answers arrive, from any thread; outlives the run for those that come too late.
  struct Inbox {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<Outcome> outcomes;
  };

  void send(BatchRequest request);
  std::vector<Outcome> wait_for_outcomes();
  Status take(Outcome outcome, const Keep& keep);

  http::Handler& handler_;
  const http::Headers headers_;
  const std::size_t most_in_flight_;
  const std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
  std::deque<BatchRequest> again_;
  std::size_t in_flight_ = 0;
  std::size_t allowed_;  // in flight: fewer after "come back later", one more with every answer
  BatchCounts counts_;
  bool complete_ = false;
};

}  // namespace takt::app
