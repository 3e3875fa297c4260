// Steps as lines of a table.
#pragma once

#include <string>

#include "step_history.h"

namespace takt::app {

std::string step_table_head();
std::string step_table_row(const StepView& step);

}  // namespace takt::app
