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
constexpr double kKeyLine = 15.0;        // height of a line of the key
constexpr double kKeyMark = 22.0;        // what stands before a name
constexpr double kKeyLetter = 6.3;       // about as wide as a letter is
constexpr std::size_t kKeyLetters = 28;  // longer names are cut
constexpr std::size_t kColours = 6;
constexpr int kHeatColumns = 24;
constexpr int kHeatRows = 16;

std::string coordinate(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", value);
  return text.data();
}

// A round number, without the digits that say how exact a measured one is.
std::string tick_number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%g", std::abs(value) < 1e-12 ? 0.0 : value);
  return text.data();
}

std::string tick_seconds(double seconds) {
  constexpr double kAsMinutes = 120.0;
  if (seconds == 0.0) return "0";
  if (seconds < 1e-3) return tick_number(seconds * 1e6) + " us";
  if (seconds < 1.0) return tick_number(seconds * 1e3) + " ms";
  if (seconds < kAsMinutes) return tick_number(seconds) + " s";
  return tick_number(seconds / 60.0) + " min";
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

// The first letters of a name that is longer than the key has room for; UTF-8 is cut between its characters.
std::string short_name(const std::string& name) {
  std::size_t letters = 0;
  for (std::size_t at = 0; at < name.size(); ++at) {
    const bool begins = (static_cast<unsigned char>(name[at]) & 0xC0U) != 0x80U;
    if (begins && ++letters > kKeyLetters) return name.substr(0, at) + "...";
  }
  return name;
}

// What each colour means, in lines above the drawing, where no curve can be below it.
struct Key {
  std::string svg;
  double height = 0.0;
};

Key key_of(const std::vector<Series>& series) {
  Key key;
  if (series.size() < 2) return key;
  double x = kLeft;
  double y = kTop;
  for (std::size_t i = 0; i < series.size(); ++i) {
    const std::string name = short_name(series[i].name);
    const double width = kKeyMark + kKeyLetter * static_cast<double>(std::min(name.size(), kKeyLetters + 3)) + 10.0;
    if (x > kLeft && x + width > kWidth) {
      x = kLeft;
      y += kKeyLine;
    }
    const std::string colour = " c" + std::to_string(i % kColours);
    key.svg += "<path class=\"l" + colour + "\" d=\"M" + coordinate(x) + " " + coordinate(y) + "h" +
               coordinate(kKeyMark - 5.0) + "\"/><text class=\"k\" x=\"" + coordinate(x + kKeyMark) + "\" y=\"" +
               coordinate(y + 4.0) + "\">" + escaped(name) + "</text>";
    x += width;
  }
  key.height = y - kTop + kKeyLine;
  return key;
}

class Frame {
 public:
  Frame(const std::string& title, const Axis& x, const Axis& y, const Key& key)
      : x_(x), y_(y), top_(kTop + key.height), bottom_(kHeight - kBottom + key.height) {
    svg_ = "<svg viewBox=\"0 0 " + coordinate(kWidth) + " " + coordinate(bottom_ + kBottom) +
           "\" role=\"img\" aria-label=\"" + escaped(title) + "\"><text class=\"t\" x=\"" + coordinate(kLeft) +
           "\" y=\"16\">" + escaped(title) + "</text>" + key.svg;
    draw_axis(x_, false);
    draw_axis(y_, true);
  }

  double x(double value) const { return kLeft + share(x_, value) * (kWidth - kLeft - kRight); }
  double y(double value) const { return bottom_ - share(y_, value) * (bottom_ - top_); }

  void add(const std::string& text) { svg_ += text; }
  std::string finish() { return svg_ + "</svg>"; }

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
      constexpr double kRoomForSteps = 1000.0;  // as a ratio: then 2 and 5 of each decade have room too
      const bool steps = axis.high / axis.low < kRoomForSteps;
      for (double decade = std::pow(10.0, std::floor(std::log10(axis.low))); decade <= axis.high; decade *= 10.0) {
        for (const double step : {1.0, 2.0, 5.0}) {
          const double tick = decade * step;
          if (tick >= axis.low && tick <= axis.high && (step == 1.0 || steps)) all.push_back(tick);
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
      const std::string text = axis.seconds ? tick_seconds(tick) : tick_number(tick);
      if (vertical) {
        svg_ += "<path class=\"g\" d=\"M" + coordinate(kLeft) + " " + coordinate(at) + "H" +
                coordinate(kWidth - kRight) + "\"/><text class=\"a e\" x=\"" + coordinate(kLeft - 5.0) + "\" y=\"" +
                coordinate(at + 3.5) + "\">" + text + "</text>";
      } else {
        svg_ += "<path class=\"g\" d=\"M" + coordinate(at) + " " + coordinate(top_) + "V" + coordinate(bottom_) +
                "\"/><text class=\"a m\" x=\"" + coordinate(at) + "\" y=\"" + coordinate(bottom_ + 14.0) + "\">" +
                text + "</text>";
      }
    }
    if (vertical) {
      svg_ += "<text class=\"a m\" transform=\"translate(12 " + coordinate((top_ + bottom_) / 2.0) +
              ") rotate(-90)\">" + escaped(axis.label) + "</text>";
    } else {
      svg_ += "<text class=\"a m\" x=\"" + coordinate((kLeft + kWidth - kRight) / 2.0) + "\" y=\"" +
              coordinate(bottom_ + kBottom - 8.0) + "\">" + escaped(axis.label) + "</text>";
    }
  }

  Axis x_;
  Axis y_;
  double top_;
  double bottom_;
  std::string svg_;
};

Frame framed(const std::string& title, Axis& x, Axis& y, const std::vector<Series>& series) {
  std::vector<const Points*> all;
  for (const auto& one : series) all.push_back(&one.points);
  fit(x, all, false);
  fit(y, all, true);
  return {title, x, y, key_of(series)};
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
  return frame.finish();
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
  return frame.finish();
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
  frame.add("<text class=\"a e\" x=\"" + coordinate(kWidth - kRight) +
            "\" y=\"16\">strongest: " + std::to_string(most) + " requests</text>");
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
  return frame.finish();
}

}  // namespace takt::report
