// The step log: what every scheduler was given and what it planned, in a file that a thread of its own writes
// (docs/metrics.md). An engine never waits for the disk: what cannot be kept is counted.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "metrics/rotating_file.h"
#include "metrics/step_records.h"
#include "metrics/step_writer.h"
#include "sched/tape.h"

namespace takt::metrics {

struct StepLogOptions {
  std::string path;                                        // empty: off
  std::size_t file_bytes = std::size_t{64} * 1024 * 1024;  // a file that is larger is put aside
  std::size_t files = 4;                                   // that are kept
};

class StepLog {
 public:
  // `run`: tells the files of this run from those of others. Errors: kIo, see RotatingFile::open.
  static Result<std::unique_ptr<StepLog>> open(const StepLogOptions& options, std::vector<std::string> model_names,
                                               std::int64_t run);
  // Writes out what was recorded before; gives up a reader that takes nothing for a second.
  ~StepLog();

  // The tape of a model's engine, which uses it until it has stopped. `terms`: of its step-time model at the start.
  SchedulerTape& tape(ModelIndex model, const StepTimeTermValues& terms);

 private:
  class Tape;

  StepLog(const StepLogOptions& options, std::vector<std::string> model_names, std::int64_t run, RotatingFile file);
  void write_out();
  Status write_pieces(const std::string& text, const std::vector<std::size_t>& cuts);
  Status write_all(std::string_view text);

  static constexpr std::size_t kQueuedBytes = std::size_t{4} * 1024 * 1024;
  static constexpr std::size_t kWriteBytes = std::size_t{64} * 1024;  // wake the writer for

  const StepLogOptions options_;
  const std::vector<std::string> model_names_;
  const std::int64_t run_;
  RotatingFile file_;  // the writer's
  std::uint64_t part_ = 0;

  std::mutex mutex_;  // held by an engine while it writes one record, by the writer while it swaps a string
  std::condition_variable has_records_;
  std::string queued_;
  std::vector<std::size_t> cuts_;  // where in `queued_` a new file begins
  std::size_t file_bytes_ = 0;     // of the file that the end of `queued_` belongs to
  std::uint64_t file_number_ = 0;
  bool off_ = false;  // writing failed
  bool closing_ = false;

  std::vector<std::unique_ptr<Tape>> tapes_;
  std::thread writer_;  // last: it uses all of the above
};

}  // namespace takt::metrics
