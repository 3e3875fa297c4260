#include "bench_progress.h"

#include <unistd.h>

#include <cstdio>
#include <memory>

#include "report/figures.h"

namespace takt::app {
namespace {

constexpr Duration kLineEvery = std::chrono::seconds(10);

bool in_a_terminal() {
  return ::isatty(STDERR_FILENO) == 1;
}

std::string whole_seconds(Duration time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(time).count());
}

}  // namespace

std::string progress_line(const std::string& label, const load::RunProgress& progress) {
  std::string line = label.empty() ? "" : label + "  ";
  line += progress.draining ? "draining" : progress.warming_up ? "warm-up" : "measuring";
  line += " " + whole_seconds(progress.elapsed);
  if (progress.planned) line += "/" + whole_seconds(*progress.planned);
  line += " s  sent " + std::to_string(progress.sent) + "  in flight " + std::to_string(progress.in_flight) +
          "  done " + std::to_string(progress.complete);
  if (progress.failed > 0) line += "  failed " + std::to_string(progress.failed);
  if (progress.ttft_p50)
    line +=
        "  TTFT p50 " + report::seconds_text(*progress.ttft_p50) + " p99 " + report::seconds_text(*progress.ttft_p99);
  if (progress.itl_p50)
    line += "  ITL p50 " + report::seconds_text(*progress.itl_p50) + " p99 " + report::seconds_text(*progress.itl_p99);
  if (progress.planned && *progress.planned > progress.elapsed)
    line += "  ETA " + whole_seconds(*progress.planned - progress.elapsed) + " s";
  return line;
}

std::function<void(const load::RunProgress&)> show_progress(const std::string& label) {
  auto next = std::make_shared<Duration>(0);
  return [label, next, terminal = in_a_terminal()](const load::RunProgress& progress) {
    if (!terminal && progress.elapsed < *next) return;
    *next = progress.elapsed + kLineEvery;
    std::fprintf(stderr, terminal ? "\r\x1b[K%s" : "%s\n", progress_line(label, progress).c_str());
    std::fflush(stderr);
  };
}

void end_progress() {
  if (in_a_terminal()) std::fputs("\r\x1b[K", stderr);
}

}  // namespace takt::app
