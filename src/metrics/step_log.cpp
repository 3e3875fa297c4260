#include "metrics/step_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "base/thread_name.h"

namespace takt::metrics {
namespace {

namespace json = boost::json;

constexpr std::size_t kBufferBytes = 64 * 1024;

json::array entries_json(const StepPlan& plan) {
  json::array entries;
  entries.reserve(plan.entries.size());
  for (const PlanEntry& entry : plan.entries) {
    entries.push_back({{"sequence", entry.sequence.value},
                       {"first_position", entry.first_position},
                       {"tokens", entry.token_count},
                       {"samples", entry.samples},
                       {"admits", entry.admits}});
  }
  return entries;
}

json::array drops_json(const StepPlan& plan) {
  json::array drops;
  for (const PlanDrop& drop : plan.drops) {
    drops.push_back({{"sequence", drop.sequence.value}, {"keep_tokens", drop.keep_tokens}});
  }
  return drops;
}

json::array waits_json(const StepPlan& plan) {
  json::array waits;
  for (const QueueWait& wait : plan.waits) {
    waits.push_back({{"tier", to_string(wait.tier)}, {"reason", to_string(wait.reason)}, {"requests", wait.requests}});
  }
  return waits;
}

std::string step_line(const StepCommitted& step, Duration since_start) {
  const StepPlan& plan = step.plan;
  json::object line{{"step", plan.id.value},
                    {"model", step.model.value},
                    {"at_seconds", to_seconds(since_start)},
                    {"predicted_seconds", to_seconds(plan.predicted)},
                    {"measured_seconds", to_seconds(step.measured)},
                    {"budget_seconds", to_seconds(plan.budget)},
                    {"beat_overrun", plan.beat_overrun},
                    {"tokens", plan.features.tokens},
                    {"decode_rows", plan.features.decode_rows},
                    {"padding_rows", plan.features.padding_rows},
                    {"attended_positions", plan.features.attended_positions},
                    {"entries", entries_json(plan)},
                    {"drops", drops_json(plan)},
                    {"waits", waits_json(plan)},
                    {"running", step.running},
                    {"waiting", step.waiting},
                    {"waiting_tokens", step.waiting_tokens},
                    {"blocks_total", step.blocks_total},
                    {"blocks_free", step.blocks_free},
                    {"blocks_cached", step.blocks_cached},
                    {"blocks_owned", step.blocks_owned}};
  return json::serialize(line) + '\n';
}

std::string first_line(const std::vector<std::string>& model_names) {
  json::array models(model_names.begin(), model_names.end());
  return json::serialize(json::object{{"format", "takt-step-log"}, {"version", 1}, {"models", std::move(models)}}) +
         '\n';
}

Error io_error(const std::string& path, int error) {
  return {ErrorCode::kIo, "step log " + path + ": " + std::generic_category().message(error), "step_log"};
}

}  // namespace

Result<std::unique_ptr<StepLog>> StepLog::open(const std::string& path, const std::vector<std::string>& model_names,
                                               TimePoint start) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return io_error(path, errno);
  std::unique_ptr<StepLog> log(new StepLog(path, file, start));
  if (!log->write_all(first_line(model_names))) return io_error(path, errno);
  log->writer_ = std::thread([raw = log.get()] {
    name_this_thread("takt-step-log");
    raw->write_lines();
  });
  return log;
}

StepLog::StepLog(std::string path, int file, TimePoint start) : path_(std::move(path)), file_(file), start_(start) {}

StepLog::~StepLog() {
  closing_.store(true, std::memory_order_release);
  queue_.close();
  if (writer_.joinable()) writer_.join();
  ::close(file_);
}

void StepLog::publish(const std::vector<Event>& events) noexcept {
  for (const Event& event : events) {
    const auto* step = std::get_if<StepCommitted>(&event.what);
    if (step == nullptr) continue;
    try {
      if (!queue_.try_push({event.at, *step})) dropped_.fetch_add(1, std::memory_order_relaxed);
    } catch (const std::exception&) {
      dropped_.fetch_add(1, std::memory_order_relaxed);
    }
  }
}

bool StepLog::write_all(const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t written = ::write(file_, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    done += static_cast<std::size_t>(written);
  }
  return true;
}

void StepLog::append(std::string& buffer, const Line& line) {
  if (const auto dropped = dropped_.exchange(0, std::memory_order_relaxed)) {
    buffer += "{\"dropped\":" + std::to_string(dropped) + "}\n";
  }
  buffer += step_line(line.step, line.at - start_);
}

void StepLog::write_lines() {
  // A line is on disk at most this long after its step; with nothing to write the thread sleeps.
  constexpr Duration kFlushAfter = std::chrono::milliseconds(200);
  constexpr Duration kIdle = std::chrono::hours(1);
  std::string buffer;
  bool broken = false;
  for (;;) {
    const auto line = queue_.pop_for(buffer.empty() ? kIdle : kFlushAfter);
    if (line) append(buffer, *line);
    if (line && buffer.size() < kBufferBytes) continue;
    if (!broken && !write_all(buffer)) {
      broken = true;
      spdlog::error("{}; no more steps are logged", io_error(path_, errno).message);
    }
    buffer.clear();
    if (!line && closing_.load(std::memory_order_acquire)) return;
  }
}

}  // namespace takt::metrics
