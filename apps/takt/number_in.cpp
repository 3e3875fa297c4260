#include "number_in.h"

#include <string>

#include "base/message_number.h"

namespace takt::app {

CLI::Validator number_in(double least, double most) {
  const std::string from = message_number(least);
  const std::string to = message_number(most);
  const auto check = [least, most, from, to](std::string& text) -> std::string {
    double value = 0.0;
    if (CLI::detail::lexical_cast(text, value) && value >= least && value <= most) return {};
    return "must be a number from " + from + " to " + to + ", not " + text;
  };
  return CLI::Validator(check, "in [" + from + " - " + to + "]");
}

}  // namespace takt::app
