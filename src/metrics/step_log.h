// The step log: one JSON line per committed step, written by a thread of its own.
//
// The first line describes the log: {"format":"takt-step-log","version":1,"models":[...]}. Every other line is a step:
//   step, model (index), at_seconds (since the log began, the step's end), predicted_seconds, measured_seconds,
//   budget_seconds, beat_overrun, tokens, decode_rows, attended_positions, entries [{sequence, first_position, tokens,
//   samples, admits}], drops [{sequence, keep_tokens}], waits [{tier, reason, requests}], running, waiting,
//   waiting_tokens, blocks_total, blocks_free, blocks_cached, blocks_owned
// or {"dropped": n}: n steps are missing here because the disk could not keep up.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/bounded_queue.h"
#include "base/clock.h"
#include "base/result.h"
#include "core/event.h"

namespace takt::metrics {

class StepLog final : public EventSink {
 public:
  // Creates the file (owner-only rights) or truncates it. Error: kIo with the path and the system's words.
  static Result<std::unique_ptr<StepLog>> open(const std::string& path, const std::vector<std::string>& model_names,
                                               TimePoint start);
  // Writes out what was published before.
  ~StepLog() override;

  // Never blocks: what the queue cannot hold is dropped and counted.
  void publish(const std::vector<Event>& events) noexcept override;

 private:
  struct Line {
    TimePoint at;
    StepCommitted step;
  };
  StepLog(std::string path, int file, TimePoint start);
  void append(std::string& buffer, const Line& line);
  void write_lines();
  bool write_all(const std::string& text);

  static constexpr std::size_t kQueuedSteps = 4096;

  const std::string path_;
  const int file_;
  const TimePoint start_;
  BoundedQueue<Line> queue_{kQueuedSteps};
  std::atomic<std::uint64_t> dropped_{0};
  std::atomic<bool> closing_{false};
  std::thread writer_;
};

}  // namespace takt::metrics
