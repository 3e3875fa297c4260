#include "report/svg_plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "report/figures.h"

namespace takt::report {
namespace {

constexpr double kWidth = 460.0;
constexpr double kHeight = 280.0;
constexpr double kLeft = 62.0;
constexpr double kRight = 14.0;
constexpr double kTop = 30.0;
constexpr double kBottom = 44.0;
constexpr std::size_t kColours = 6;
constexpr int kHeatColumns = 24;
constexpr int kHeatRows = 16;

std::string coordinate(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", value);
  return text.data();
}

using Points = std::vector<std::pair<double, double>>;

void fit(Axis& axis, const std::vector<const Points*>& all, bool second) {
  if (axis.low != axis.high) return;
  double low = 1e300;
  double high = -1e300;
  for (const auto* points : all) {
    for (const auto& point : *points) {
      const double value = second ? point.second : point.first;
      if (axis.logarithmic && value <= 0.0) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  if (low > high) {
    low = axis.logarithmic ? 0.1 : 0.0;
    high = 1.0;
  }
  if (!axis.logarithmic && low > 0.0 && low < 0.5 * high) low = 0.0;
  if (low == high) high = axis.logarithmic ? low * 2.0 : low + 1.0;
  axis.low = low;
  axis.high = high;
}

class Frame {
 public:
  Frame(const std::string& title, const Axis& x, const Axis& y) : x_(x), y_(y) {
    svg_ = "<svg viewBox=\"0 0 " + coordinate(kWidth) + " " + coordinate(kHeight) + "\" role=\"img\" aria-label=\"" +
           escaped(title) + "\"><text class=\"t\" x=\"" + coordinate(kLeft) + "\" y=\"16\">" + escaped(title) +
           "</text>";
    draw_axis(x_, false);
    draw_axis(y_, true);
  }

  double x(double value) const { return kLeft + share(x_, value) * (kWidth - kLeft - kRight); }
  double y(double value) const { return kHeight - kBottom - share(y_, value) * (kHeight - kTop - kBottom); }

  void add(const std::string& text) { svg_ += text; }

  std::string finish(const std::vector<Series>& series) {
    double at = kTop + 10.0;
    for (std::size_t i = 0; series.size() > 1 && i < series.size(); ++i, at += 13.0) {
      svg_ += "<text class=\"k c" + std::to_string(i % kColours) + "\" x=\"" + coordinate(kLeft + 8.0) + "\" y=\"" +
              coordinate(at) + "\">" + escaped(series[i].name) + "</text>";
    }
    return svg_ + "</svg>";
  }

 private:
  static double share(const Axis& axis, double value) {
    const double part = axis.logarithmic
                            ? std::log(std::max(value, axis.low) / axis.low) / std::log(axis.high / axis.low)
                            : (value - axis.low) / (axis.high - axis.low);
    return std::clamp(part, 0.0, 1.0);
  }

  static std::vector<double> ticks(const Axis& axis) {
    std::vector<double> all;
    if (axis.logarithmic) {
      const bool few_decades = axis.high / axis.low < 30.0;
      for (double decade = std::pow(10.0, std::floor(std::log10(axis.low))); decade <= axis.high; decade *= 10.0) {
        for (const double step : {1.0, 2.0, 5.0}) {
          const double tick = decade * step;
          if (tick >= axis.low && tick <= axis.high && (step == 1.0 || few_decades)) all.push_back(tick);
        }
      }
      return all;
    }
    double step = std::pow(10.0, std::floor(std::log10((axis.high - axis.low) / 4.0)));
    for (const double factor : {2.0, 2.5, 2.0}) {
      if ((axis.high - axis.low) / step > 6.0) step *= factor;
    }
    for (double tick = std::ceil(axis.low / step) * step; tick <= axis.high * (1.0 + 1e-9); tick += step)
      all.push_back(tick);
    return all;
  }

  void draw_axis(const Axis& axis, bool vertical) {
    for (const double tick : ticks(axis)) {
      const double at = vertical ? y(tick) : x(tick);
      const std::string text = axis.seconds ? seconds_text(tick) : number_text(tick);
      if (vertical) {
        svg_ += "<path class=\"g\" d=\"M" + coordinate(kLeft) + " " + coordinate(at) + "H" +
                coordinate(kWidth - kRight) + "\"/><text class=\"a e\" x=\"" + coordinate(kLeft - 5.0) + "\" y=\"" +
                coordinate(at + 3.5) + "\">" + text + "</text>";
      } else {
        svg_ += "<path class=\"g\" d=\"M" + coordinate(at) + " " + coordinate(kTop) + "V" +
                coordinate(kHeight - kBottom) + "\"/><text class=\"a m\" x=\"" + coordinate(at) + "\" y=\"" +
                coordinate(kHeight - kBottom + 14.0) + "\">" + text + "</text>";
      }
    }
    if (vertical) {
      svg_ += "<text class=\"a m\" transform=\"translate(12 " + coordinate((kTop + kHeight - kBottom) / 2.0) +
              ") rotate(-90)\">" + escaped(axis.label) + "</text>";
    } else {
      svg_ += "<text class=\"a m\" x=\"" + coordinate((kLeft + kWidth - kRight) / 2.0) + "\" y=\"" +
              coordinate(kHeight - 8.0) + "\">" + escaped(axis.label) + "</text>";
    }
  }

  Axis x_;
  Axis y_;
  std::string svg_;
};

Frame framed(const std::string& title, Axis& x, Axis& y, const std::vector<Series>& series) {
  std::vector<const Points*> all;
  for (const auto& one : series) all.push_back(&one.points);
  fit(x, all, false);
  fit(y, all, true);
  return {title, x, y};
}

}  // namespace

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

std::string plot_lines(const std::string& title, Axis x, Axis y, const std::vector<Series>& series) {
  Frame frame = framed(title, x, y, series);
  for (std::size_t i = 0; i < series.size(); ++i) {
    std::string path = "<path class=\"l c" + std::to_string(i % kColours) + "\" d=\"";
    const char* step = "M";
    for (const auto& [px, py] : series[i].points) {
      path += step + coordinate(frame.x(px)) + " " + coordinate(frame.y(py));
      step = "L";
    }
    frame.add(path + "\"/>");
  }
  return frame.finish(series);
}

std::string plot_points(const std::string& title, Axis x, Axis y, const std::vector<Series>& series) {
  Frame frame = framed(title, x, y, series);
  for (std::size_t i = 0; i < series.size(); ++i) {
    // One path of dots: a mark of its own for each would make the page ten times as long.
    std::string path = "<path class=\"d c" + std::to_string(i % kColours) + "\" d=\"";
    for (const auto& [px, py] : series[i].points)
      path += "M" + coordinate(frame.x(px)) + " " + coordinate(frame.y(py)) + "h0";
    frame.add(path + "\"/>");
  }
  return frame.finish(series);
}

std::string plot_heat(const std::string& title, Axis x, Axis y, const Points& points) {
  const std::vector<Series> series{{"", points}};
  Frame frame = framed(title, x, y, series);
  const double width = (kWidth - kLeft - kRight) / kHeatColumns;
  const double height = (kHeight - kTop - kBottom) / kHeatRows;
  std::array<std::array<std::uint32_t, kHeatColumns>, kHeatRows> counts{};
  std::uint32_t most = 0;
  for (const auto& [px, py] : points) {
    const auto column = std::clamp(static_cast<int>((frame.x(px) - kLeft) / width), 0, kHeatColumns - 1);
    const auto row = std::clamp(static_cast<int>((frame.y(py) - kTop) / height), 0, kHeatRows - 1);
    most = std::max(most, ++counts[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)]);
  }
  for (int row = 0; row < kHeatRows; ++row) {
    for (int column = 0; column < kHeatColumns; ++column) {
      const auto count = counts[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)];
      if (count == 0) continue;
      const double strength = 0.12 + 0.88 * std::log1p(count) / std::log1p(most);
      frame.add("<rect class=\"h\" x=\"" + coordinate(kLeft + column * width) + "\" y=\"" +
                coordinate(kTop + row * height) + "\" width=\"" + coordinate(width) + "\" height=\"" +
                coordinate(height) + "\" opacity=\"" + coordinate(strength).substr(0, 4) + "\"><title>" +
                std::to_string(count) + "</title></rect>");
    }
  }
  return frame.finish({});
}

}  // namespace takt::report
