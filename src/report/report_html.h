// A report as one file of HTML: tables and plots, light and dark, fit for printing. It loads nothing and runs nothing.
#pragma once

#include <string>

#include "report/run_report.h"
#include "report/sections.h"

namespace takt::report {

// The plots of long runs are of a sample of their requests, drawn evenly; the figures are of all.
std::string to_html(const RunReport& report);
std::string to_html(const std::string& title, const std::vector<Section>& sections);

}  // namespace takt::report
