#include "metrics/step_log.h"

#include <exception>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "base/thread_name.h"

namespace takt::metrics {

// Writes the records of one engine, on its thread.
class StepLog::Tape final : public SchedulerTape {
 public:
  Tape(StepLog& log, ModelIndex model, const StepTimeTermValues& terms) : log_(log), writer_(model), terms_(terms) {}

  void started(const SchedulerOptions& options, const CapacityView& memory, TimePoint now) noexcept override {
    record(Place::kInsideAStep, [&](std::string& out) { writer_.start(out, {options, memory, terms_, false}, now); });
  }
  void added(const SequenceFacts& facts, RequestId request, std::uint32_t choice, TimePoint now) noexcept override {
    record(Place::kAnywhere, [&](std::string& out) { writer_.add(out, {facts, request, choice}, now); });
  }
  void removed(SequenceId sequence, bool natural_end, TimePoint now) noexcept override {
    record(Place::kAnywhere, [&](std::string& out) { writer_.remove(out, {sequence, natural_end}, now); });
  }
  void reconfigured(const SchedulerOptions& options, TimePoint now) noexcept override {
    record(Place::kAnywhere, [&](std::string& out) { writer_.change(out, options, now); });
  }
  void reserve_set(SequenceId sequence, std::uint32_t tokens, TimePoint now) noexcept override {
    record(Place::kAnywhere, [&](std::string& out) { writer_.set_reserve(out, {sequence, tokens}, now); });
  }
  void swap_lost(SequenceId sequence, std::uint32_t computed, TimePoint now) noexcept override {
    record(Place::kInsideAStep, [&](std::string& out) { writer_.lose(out, {sequence, computed}, now); });
  }
  void planned(const CapacityView& view, const StepPlan& plan, TimePoint now) noexcept override {
    record(Place::kAnywhere, [&](std::string& out) { writer_.plan(out, view, plan, now); });
  }
  void committed(std::span<const SequenceProgress> progress, Duration measured, bool observed,
                 TimePoint now) noexcept override {
    record(Place::kInsideAStep, [&](std::string& out) { writer_.commit(out, progress, measured, observed, now); });
  }

 private:
  // Whether a file may begin before the record.
  enum class Place : std::uint8_t { kAnywhere, kInsideAStep };

  template <typename Write>
  void record(Place place, Write write) noexcept {
    const std::lock_guard lock(log_.mutex_);
    if (log_.off_) return;
    std::string& out = log_.queued_;
    const std::size_t start = out.size();
    const bool full = start >= kQueuedBytes || (lost_ > 0 && place == Place::kInsideAStep);
    try {
      if (full) {
        // The writer must know what its reader will be told later.
        discarded_.clear();
        write(discarded_);
        ++lost_;
        return;
      }
      if (place == Place::kAnywhere) catch_up(out);
      write(out);
    } catch (const std::exception&) {
      out.resize(start);
      ++lost_;
    }
    log_.file_bytes_ += out.size() - start;
    const bool wakes = start == 0 || (start < kWriteBytes && out.size() >= kWriteBytes);
    if (wakes) log_.has_records_.notify_one();
  }

  void catch_up(std::string& out) {
    if (log_.file_.rotates() && log_.file_bytes_ >= log_.options_.file_bytes) {
      log_.cuts_.push_back(out.size());
      log_.file_bytes_ = 0;
      ++log_.file_number_;
    }
    if (lost_ > 0) writer_.lost(out, lost_);
    if (lost_ > 0 || file_ != log_.file_number_) writer_.resume(out);
    lost_ = 0;
    file_ = log_.file_number_;
  }

  StepLog& log_;
  StepWriter writer_;
  const StepTimeTermValues terms_;
  std::string discarded_;
  std::uint64_t file_ = 0;
  std::uint64_t lost_ = 0;
};

Result<std::unique_ptr<StepLog>> StepLog::open(const StepLogOptions& options, std::vector<std::string> model_names,
                                               std::int64_t run) {
  auto file = RotatingFile::open(options.path, options.files, kStepLogBeginning);
  if (!file) return file.error();
  std::unique_ptr<StepLog> log(new StepLog(options, std::move(model_names), run, std::move(*file)));
  if (const Status written = log->write_all(step_log_head(log->model_names_, run, 0)); !written) return written.error();
  log->writer_ = std::thread([raw = log.get()] {
    name_this_thread("takt-step-log");
    raw->write_out();
  });
  return log;
}

StepLog::StepLog(const StepLogOptions& options, std::vector<std::string> model_names, std::int64_t run,
                 RotatingFile file)
    : options_(options), model_names_(std::move(model_names)), run_(run), file_(std::move(file)) {}

StepLog::~StepLog() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  has_records_.notify_all();
  if (writer_.joinable()) writer_.join();
}

SchedulerTape& StepLog::tape(ModelIndex model, const StepTimeTermValues& terms) {
  tapes_.push_back(std::make_unique<Tape>(*this, model, terms));
  return *tapes_.back();
}

void StepLog::write_out() {
  // A record is on disk at most this long after its step; with nothing to write the thread sleeps.
  constexpr Duration kFlushAfter = std::chrono::milliseconds(200);
  std::string text;
  std::vector<std::size_t> cuts;
  for (;;) {
    bool last = false;
    {
      std::unique_lock lock(mutex_);
      has_records_.wait(lock, [this] { return closing_ || !queued_.empty(); });
      has_records_.wait_for(lock, kFlushAfter, [this] { return closing_ || queued_.size() >= kWriteBytes; });
      text.clear();
      cuts.clear();
      std::swap(text, queued_);
      std::swap(cuts, cuts_);
      last = closing_;
    }
    const Status written = write_pieces(text, cuts);
    if (!written) spdlog::error("{}; no more steps are logged", written.error().message);
    if (last && written) return;
    if (written) continue;
    const std::lock_guard lock(mutex_);
    off_ = true;
    queued_ = {};
    return;
  }
}

Status StepLog::write_pieces(const std::string& text, const std::vector<std::size_t>& cuts) {
  std::size_t from = 0;
  for (const std::size_t cut : cuts) {
    if (const Status written = write_all(std::string_view(text).substr(from, cut - from)); !written) return written;
    if (const Status rotated = file_.rotate(); !rotated) return rotated;
    if (const Status written = write_all(step_log_head(model_names_, run_, ++part_)); !written) return written;
    from = cut;
  }
  return write_all(std::string_view(text).substr(from));
}

Status StepLog::write_all(std::string_view text) {
  constexpr int kWaitsAtTheEnd = 10;
  int waits = 0;
  for (;;) {
    const auto done = file_.write(text);
    if (!done) return done.error();
    if (*done) return {};
    {
      const std::lock_guard lock(mutex_);
      if (closing_ && ++waits > kWaitsAtTheEnd)
        return Error{ErrorCode::kIo, "step log " + options_.path + ": its reader takes no more", "step_log"};
    }
    file_.wait();
  }
}

}  // namespace takt::metrics
