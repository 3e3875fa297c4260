#include "step_trace.h"

#include <array>
#include <boost/json.hpp>

namespace takt::app {
namespace {

namespace json = boost::json;

constexpr const char* kNames[] = {"waiting", "prefill", "decode", "preempted", "paused", "swapped"};
// The engine's own track stands above those of its sequences.
constexpr std::uint64_t kStepTrack = 0;

double microseconds(TimePoint at) {
  return static_cast<double>(at.time_since_epoch().count()) / 1e3;
}

}  // namespace

StepTrace::StepTrace(std::FILE* out, const std::string& process) : out_(out) {
  good_ = std::fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n", out_) >= 0;
  event(
      json::serialize(json::object{{"ph", "M"}, {"name", "process_name"}, {"pid", 0}, {"args", {{"name", process}}}}));
  event(json::serialize(json::object{
      {"ph", "M"}, {"name", "thread_name"}, {"pid", 0}, {"tid", kStepTrack}, {"args", {{"name", "steps"}}}}));
}

void StepTrace::event(const std::string& fields) {
  if (!std::exchange(first_, false)) good_ = std::fputs(",\n", out_) >= 0 && good_;
  good_ = std::fputs(fields.c_str(), out_) >= 0 && good_;
}

void StepTrace::close(const Track& track, TimePoint at) {
  json::object fields{{"ph", "X"},
                      {"name", kNames[static_cast<std::size_t>(track.cell.state)]},
                      {"pid", 0},
                      {"tid", track.cell.sequence.value},
                      {"ts", microseconds(track.since)},
                      {"dur", microseconds(at) - microseconds(track.since)}};
  if (track.cell.tokens > 0) fields["args"] = {{"tokens", track.cell.tokens}};
  event(json::serialize(fields));
}

void StepTrace::add(const StepView& step) {
  event(json::serialize(json::object{{"ph", "X"},
                                     {"name", "step " + std::to_string(step.plan.id.value)},
                                     {"pid", 0},
                                     {"tid", kStepTrack},
                                     {"ts", microseconds(step.begin)},
                                     {"dur", microseconds(step.end) - microseconds(step.begin)},
                                     {"args",
                                      {{"prefill_tokens", step.prefill_tokens},
                                       {"decode_rows", step.plan.features.decode_rows},
                                       {"predicted_ms", to_seconds(step.plan.predicted) * 1e3},
                                       {"budget_ms", to_seconds(step.plan.budget) * 1e3}}}}));
  event(json::serialize(json::object{{"ph", "C"},
                                     {"name", "sequences"},
                                     {"pid", 0},
                                     {"ts", microseconds(step.begin)},
                                     {"args", {{"running", step.running}, {"waiting", step.waiting}}}}));
  event(json::serialize(json::object{{"ph", "C"},
                                     {"name", "free blocks"},
                                     {"pid", 0},
                                     {"ts", microseconds(step.begin)},
                                     {"args", {{"blocks", step.blocks_free}}}}));
  // Both lists are in the order of sequences.
  std::vector<Track> now;
  auto before = open_.begin();
  for (const StepCell& cell : step.cells) {
    while (before != open_.end() && before->cell.sequence < cell.sequence) close(*before++, step.begin);
    const bool known = before != open_.end() && before->cell.sequence == cell.sequence;
    if (known && before->cell.state == cell.state) {
      now.push_back(*before++);
      now.back().cell.tokens += cell.tokens;
      continue;
    }
    if (known) close(*before++, step.begin);
    now.push_back({cell, step.begin});
  }
  while (before != open_.end()) close(*before++, step.begin);
  open_ = std::move(now);
  end_ = step.end;
}

bool StepTrace::finish() {
  for (const Track& track : open_) close(track, end_);
  open_.clear();
  return std::fputs("\n]}\n", out_) >= 0 && good_;
}

}  // namespace takt::app
