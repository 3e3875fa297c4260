#include "report/figures.h"

#include <array>
#include <cmath>
#include <cstdio>

namespace takt::report {
namespace {

std::string digits(double value, const char* unit) {
  const double size = std::abs(value);
  const int decimals = size >= 100.0 ? 0 : size >= 10.0 ? 1 : 2;
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f%s", decimals, value, unit);
  return text.data();
}

}  // namespace

std::string seconds_text(double seconds) {
  const double size = std::abs(seconds);
  if (size == 0.0) return "0 s";
  if (size < 1e-3) return digits(seconds * 1e6, " us");
  if (size < 1.0) return digits(seconds * 1e3, " ms");
  if (size < 120.0) return digits(seconds, " s");
  return digits(seconds / 60.0, " min");
}

std::string number_text(double value) {
  return digits(value, "");
}

std::string share_text(double share) {
  return digits(share * 100.0, " %");
}

std::string count_text(std::uint64_t count) {
  std::string text = std::to_string(count);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3)
    text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

std::string seconds_text(const std::optional<double>& seconds) {
  return seconds ? seconds_text(*seconds) : "n/a";
}

std::string seconds_text(const std::optional<double>& seconds, const std::optional<measure::Interval>& interval) {
  if (!seconds || !interval) return seconds_text(seconds);
  return seconds_text(*seconds) + " [" + seconds_text(interval->low) + ", " + seconds_text(interval->high) + "]";
}

}  // namespace takt::report
