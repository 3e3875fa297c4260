#include "number_in.h"

#include <array>
#include <cstdio>
#include <string>

namespace takt::app {
namespace {

std::string short_number(double value) {
  std::array<char, 32> digits{};
  std::snprintf(digits.data(), digits.size(), "%g", value);
  return digits.data();
}

}  // namespace

CLI::Validator number_in(double least, double most) {
  const std::string from = short_number(least);
  const std::string to = short_number(most);
  const auto check = [least, most, from, to](std::string& text) -> std::string {
    double value = 0.0;
    if (CLI::detail::lexical_cast(text, value) && value >= least && value <= most) return {};
    return "must be a number from " + from + " to " + to + ", not " + text;
  };
  return CLI::Validator(check, "in [" + from + " - " + to + "]");
}

}  // namespace takt::app
