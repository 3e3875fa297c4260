// Steps as lines of a table.
#pragma once

#include <string>

#include "step_history.h"

namespace takt::app {

std::string step_table_head();
std::string step_table_row(const StepView& step);
// What the mark in rows means whose plan has beat_overrun.
std::string step_table_legend();

}  // namespace takt::app
