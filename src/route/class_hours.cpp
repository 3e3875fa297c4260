#include "route/class_hours.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace takt::route {

namespace {

constexpr std::array kDays = {"mon", "tue", "wed", "thu", "fri", "sat", "sun"};
constexpr int kDayMinutes = 24 * 60;

bool is_on(const ClassHours& hours, int weekday) {
  return hours.days.empty() ||
         std::find(hours.days.begin(), hours.days.end(), kDays[static_cast<std::size_t>(weekday)]) != hours.days.end();
}

}  // namespace

std::optional<int> minute_of(const std::string& clock_time) {
  const auto digit = [&](std::size_t at) { return std::isdigit(static_cast<unsigned char>(clock_time[at])) != 0; };
  if (clock_time.size() != 5 || clock_time[2] != ':' || !digit(0) || !digit(1) || !digit(3) || !digit(4))
    return std::nullopt;
  const int hour = (clock_time[0] - '0') * 10 + (clock_time[1] - '0');
  const int minute = (clock_time[3] - '0') * 10 + (clock_time[4] - '0');
  if (minute > 59 || hour * 60 + minute > kDayMinutes) return std::nullopt;
  return hour * 60 + minute;
}

Status check_hours(const ClassHours& hours) {
  const auto from = minute_of(hours.from);
  if (!from || *from == kDayMinutes) return Error::invalid("from", "must be a time of the day from 00:00 to 23:59");
  if (!minute_of(hours.to)) return Error::invalid("to", "must be a time of the day from 00:00 to 24:00");
  for (const std::string& day : hours.days) {
    if (std::find(kDays.begin(), kDays.end(), day) == kDays.end())
      return Error::invalid("days", "'" + day + "' is no day; there are mon, tue, wed, thu, fri, sat, sun");
  }
  return {};
}

bool holds(const ClassHours& hours, const LocalTime& now) {
  const int from = minute_of(hours.from).value_or(0);
  const int to = minute_of(hours.to).value_or(kDayMinutes);
  const int yesterday = (now.weekday + 6) % 7;
  if (from < to) return is_on(hours, now.weekday) && now.minute >= from && now.minute < to;
  return (is_on(hours, now.weekday) && now.minute >= from) || (is_on(hours, yesterday) && now.minute < to);
}

const ClassSettings& in_force(const ClassOptions& options, const LocalTime& now) {
  for (const ClassHours& hours : options.hours) {
    if (holds(hours, now)) return hours.settings;
  }
  return options.always;
}

}  // namespace takt::route
