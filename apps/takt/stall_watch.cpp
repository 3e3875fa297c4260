#include "stall_watch.h"

#include <atomic>
#include <csignal>

#include "api/answer.h"
#include "base/log.h"

namespace takt::app {
namespace {

std::atomic<int> asked{0};  // all that the signal handler touches

void want_dump(int /*signal*/) {
  asked.fetch_add(1, std::memory_order_relaxed);
}

std::string reason_text(WaitReason reason) {
  return reason == WaitReason::kNone ? "in the step under way" : std::string("waits: ") + to_string(reason);
}

}  // namespace

std::vector<std::string> stall_dump(const std::string& model, const StallReport& report) {
  std::vector<std::string> lines;
  const std::string step = report.step == StepId() ? "no step has run yet"
                                                   : fmt::format("step {} {}", report.step.value,
                                                                 report.executing ? "is with the executor" : "is over");
  lines.push_back(fmt::format("{}: {}; {:.1f} s since the last progress; {} sequences here, {} further back", model,
                              step, to_seconds(report.since_progress), report.sequences.size(),
                              report.sequences_left_out));
  for (const WaitingSequence& s : report.sequences) {
    lines.push_back(fmt::format("{}: request {} choice {}, {}, {}, {}; {} of {} tokens computed, {:.1f} s without one",
                                model, api::request_name(s.request), s.choice, to_string(s.tier), to_string(s.phase),
                                reason_text(s.reason), s.computed_tokens, s.known_tokens,
                                to_seconds(s.since_last_progress)));
  }
  return lines;
}

StallWatch::StallWatch(const InferenceServer& server) : server_(server), was_ready_(server.model_count(), true) {
  struct sigaction action {};
  action.sa_handler = want_dump;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGUSR1, &action, nullptr);
}

void StallWatch::look() {
  const int asked_for = asked.load(std::memory_order_relaxed);
  const bool dump_all = asked_for != dumps_asked_for_;
  dumps_asked_for_ = asked_for;
  for (std::size_t model = 0; model < was_ready_.size(); ++model) {
    const EngineStatus status = server_.status(model);
    const bool stopped = was_ready_[model] && !status.ready;
    if (stopped) spdlog::error("{}: not ready: {}", server_.model_name(model), status.reason);
    if (!was_ready_[model] && status.ready) spdlog::info("{}: ready again", server_.model_name(model));
    was_ready_[model] = status.ready;
    if (stopped || dump_all) log_dump(model);
  }
}

void StallWatch::log_dump(std::size_t model) const {
  for (const std::string& line : stall_dump(server_.model_name(model), server_.stall_report(model)))
    spdlog::warn("{}", line);
}

}  // namespace takt::app
