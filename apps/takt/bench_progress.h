// A line on standard error that says how a run goes.
#pragma once

#include <functional>
#include <string>

#include "load/load_run.h"

namespace takt::app {

// In a terminal the line is drawn over itself; elsewhere there is one every ten seconds.
std::function<void(const load::RunProgress&)> show_progress(const std::string& label);
void end_progress();

std::string progress_line(const std::string& label, const load::RunProgress& progress);

}  // namespace takt::app
