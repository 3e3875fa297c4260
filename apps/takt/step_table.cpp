#include "step_table.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace takt::app {
namespace {

// The queue in which most wait for something.
std::string main_wait(const StepPlan& plan) {
  const auto most = std::max_element(plan.waits.begin(), plan.waits.end(),
                                     [](const QueueWait& a, const QueueWait& b) { return a.requests < b.requests; });
  return most == plan.waits.end() ? "" : to_string(most->reason);
}

}  // namespace

std::string step_table_head() {
  return "      step   length ms  predicted  budget  prefill   rows  running  waiting  free blocks  dropped  waits "
         "for\n";
}

std::string step_table_row(const StepView& step) {
  const auto ms = [](Duration duration) { return to_seconds(duration) * 1e3; };
  std::array<char, 256> line{};
  std::snprintf(line.data(), line.size(), "%10llu %11.2f %10.2f %7.0f%s %8u %6u %8u %8u %12u %8zu  %s\n",
                static_cast<unsigned long long>(step.plan.id.value), ms(step.measured), ms(step.plan.predicted),
                ms(step.plan.budget), step.plan.beat_overrun ? "!" : "", step.prefill_tokens,
                step.plan.features.decode_rows, step.running, step.waiting, step.blocks_free, step.plan.drops.size(),
                main_wait(step.plan).c_str());
  return line.data();
}

std::string step_table_legend() {
  return "!: a step with running streams that was planned to last longer than its budget\n";
}

}  // namespace takt::app
