#include "start_report.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

#include "base/cpu_topology.h"
#include "core/request.h"
#include "idle_speed.h"
#include "readable_bytes.h"
#include "sched/budget.h"
#include "terminal_text.h"
#include "version.h"

namespace takt::app {
namespace {

std::string seconds_text(Duration time) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f s", to_seconds(time));
  return text;
}

}  // namespace

void StartReport::say(const std::string& line) const {
  std::fprintf(to_, "%s\n", terminal_line(line).c_str());
  std::fflush(to_);
}

int StartReport::threads(const config::ServerConfig& config) const {
  const CpuBudget budget = detect_cpu_budget();
  const bool given = config.compute.threads > 0;
  const int threads = given ? config.compute.threads : budget.threads;
  say(version_line());
  say("threads: " + std::to_string(threads) + " for compute (" + (given ? "as told; " : "") + budget.reason + "), " +
      std::to_string(config.http.threads) + " for HTTP, " + std::to_string(config.serve.text_threads) + " for text");
  if (threads > budget.threads) {
    say("warning: " + std::to_string(threads) + " compute threads are more than the " + std::to_string(budget.threads) +
        " that this process can run at once: that makes it slower");
  }
  return threads;
}

LoadReport::LoadReport(std::string name, StartReport say)
    : say_(say), name_(std::move(name)), text_("loading " + name_) {}

bool LoadReport::advance(std::uint64_t done, std::uint64_t total) {
  // A tensor that serves two purposes may be read twice.
  total = std::max(total, done);
  const int percent =
      total == 0 ? 100 : static_cast<int>(static_cast<double>(done) / static_cast<double>(total) * 100.0);
  if (percent == percent_) return false;
  text_ = "loading " + name_ + ": " + std::to_string(percent) + " % (" + readable_bytes(done) + " of " +
          readable_bytes(total) + ")";
  if (percent / 25 != percent_ / 25) say_.say(text_);
  percent_ = percent;
  return true;
}

void StartReport::models(const std::vector<ServableModel>& models) const {
  for (const auto& model : models) {
    for (const auto& note : model.notes) say(model.name + ": " + note);
  }
  if (models.size() > 1) {
    say("warning: " + std::to_string(models.size()) +
        " models have an engine each and share the cores: while both are busy, steps of one lengthen steps of the "
        "other");
  }
}

void StartReport::times(const InferenceServer& server) const {
  std::string line = "started in " + seconds_text(server.clock().now() - server.created());
  for (std::size_t i = 0; i < server.start_times().size(); ++i) {
    const StartTimes& times = server.start_times()[i];
    line += "; " + server.model_name(i) + ": metadata " + seconds_text(times.metadata) + ", machine's limits " +
            seconds_text(times.machine) + ", weights " + seconds_text(times.weights) + ", time of steps " +
            seconds_text(times.steps) + ", beside them tokenizer and template " + seconds_text(times.text);
  }
  say(line);
}

void StartReport::ready(const config::ServerConfig& config, const InferenceServer& server) const {
  const ServiceTargets targets;
  const auto& measured = server.measured_steps();
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const IdleSpeed speed =
        idle_speed(measured[i], step_budget(config.engine.sched, std::nullopt, from_seconds(measured[i].per_step)));
    for (const auto& missed : missed_when_idle(speed, targets, config.engine.sched.step_target)) {
      say("warning: " + server.model_name(i) + ": as measured at this start, even for a lone request " + missed);
    }
  }
  times(server);
  const bool v6 = config.http.host.find(':') != std::string::npos;
  const std::string host = v6 ? "[" + config.http.host + "]" : config.http.host;
  say("ready: http://" + host + ":" + std::to_string(server.port()));
}

}  // namespace takt::app
