// Steps as a picture: the beat above, and below it what every sequence did in each step.
#pragma once

#include <string>
#include <vector>

#include "step_history.h"

namespace takt::app {

// Rows are sequences, columns are steps. Readable on light and on dark ground. `steps` have their cells; at least one.
std::string step_svg(const std::vector<StepView>& steps);
// The same on a page of its own, with a table of the steps.
std::string step_html(const std::vector<StepView>& steps, const std::string& title);

}  // namespace takt::app
