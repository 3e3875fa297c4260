// Plots as SVG text, with colours of the page's style sheet so that they follow light and dark.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace takt::report {

struct Axis {
  std::string label;
  bool logarithmic = false;
  bool seconds = false;  // ticks are durations
  double low = 0.0;      // of both: chosen from the data when low == high
  double high = 0.0;
};

struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;
};

std::string plot_lines(const std::string& title, Axis x, Axis y, const std::vector<Series>& series);
std::string plot_points(const std::string& title, Axis x, Axis y, const std::vector<Series>& series);
// How many points lie in each field of a grid.
std::string plot_heat(const std::string& title, Axis x, Axis y, const std::vector<std::pair<double, double>>& points);

// Text for HTML and SVG, with its special characters written out.
std::string escaped(const std::string& text);

}  // namespace takt::report
