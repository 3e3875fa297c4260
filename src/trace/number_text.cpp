#include "trace/number_text.h"

#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <limits>

namespace takt::trace {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kMostSeconds = 200LL * 366 * 86'400;

template <typename Number>
std::optional<Number> whole_number(std::string_view text) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

bool all_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Digits behind the point, as parts of `unit` nanoseconds.
std::int64_t part_of(std::string_view decimals, std::int64_t unit) {
  std::int64_t sum = 0;
  for (const char digit : decimals) {
    unit /= 10;
    sum += (digit - '0') * unit;
  }
  return sum;
}

// A fixed number of digits at the front, which is removed.
std::optional<int> take_digits(std::string_view& text, std::size_t count) {
  if (text.size() < count || !all_digits(text.substr(0, count))) return std::nullopt;
  const auto value = whole_number<int>(text.substr(0, count));
  text.remove_prefix(count);
  return value;
}

bool take_char(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

struct ClockTime {
  int hour;
  int minute;
};

// HH:MM
std::optional<ClockTime> take_clock_time(std::string_view& text) {
  const auto hour = take_digits(text, 2);
  if (!hour || *hour > 23 || !take_char(text, ":")) return std::nullopt;
  const auto minute = take_digits(text, 2);
  if (!minute || *minute > 59) return std::nullopt;
  return ClockTime{*hour, *minute};
}

// Days since 1970.
std::optional<std::int64_t> take_date(std::string_view& text) {
  constexpr int kFirstYear = 1970;
  constexpr int kLastYear = 2261;
  const auto year = take_digits(text, 4);
  if (!year || *year < kFirstYear || *year > kLastYear || !take_char(text, "-")) return std::nullopt;
  const auto month = take_digits(text, 2);
  if (!month || !take_char(text, "-")) return std::nullopt;
  const auto day = take_digits(text, 2);
  if (!day) return std::nullopt;
  const std::chrono::year_month_day date(std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day)));
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date).time_since_epoch().count();
}

// Seconds east of UTC.
std::optional<std::int64_t> take_zone(std::string_view& text) {
  if (text.empty() || take_char(text, "Z")) return 0;
  const bool west = text.front() == '-';
  if (!take_char(text, "+-")) return std::nullopt;
  const auto time = take_clock_time(text);
  if (!time) return std::nullopt;
  const std::int64_t seconds = (time->hour * 60 + time->minute) * 60;
  return west ? -seconds : seconds;
}

// SS or SS.ddd, in nanoseconds.
std::optional<std::int64_t> take_seconds(std::string_view& text) {
  const auto seconds = take_digits(text, 2);
  if (!seconds || *seconds > 60) return std::nullopt;
  std::int64_t nanoseconds = *seconds * kSecond;
  if (!take_char(text, ".")) return nanoseconds;
  const std::string_view decimals = text.substr(0, text.find_first_not_of("0123456789"));
  constexpr std::size_t kMostDecimals = 9;
  if (decimals.empty() || decimals.size() > kMostDecimals) return std::nullopt;
  nanoseconds += part_of(decimals, kSecond);
  text.remove_prefix(decimals.size());
  return nanoseconds;
}

}  // namespace

std::optional<std::uint32_t> parse_count(std::string_view text) {
  return whole_number<std::uint32_t>(text);
}

std::optional<std::uint64_t> parse_id(std::string_view text) {
  return whole_number<std::uint64_t>(text);
}

std::optional<Duration> parse_decimal(std::string_view text, Duration unit) {
  const bool negative = take_char(text, "-");
  const std::size_t point = text.find('.');
  const std::string_view whole = text.substr(0, point);
  const std::string_view decimals = point == std::string_view::npos ? std::string_view("0") : text.substr(point + 1);
  if (!all_digits(whole) || !all_digits(decimals)) return std::nullopt;
  const auto units = whole_number<std::int64_t>(whole);
  if (!units || *units > kMostSeconds * (kSecond / unit.count())) return std::nullopt;
  const std::int64_t nanoseconds = *units * unit.count() + part_of(decimals, unit.count());
  return Duration(negative ? -nanoseconds : nanoseconds);
}

std::string decimal_seconds(Duration time, int decimals) {
  const std::int64_t nanoseconds = time.count();
  const std::uint64_t size = nanoseconds < 0 ? 0 - static_cast<std::uint64_t>(nanoseconds) : nanoseconds;
  std::array<char, 48> text{};
  const int length =
      std::snprintf(text.data(), text.size(), "%s%llu.%09llu", nanoseconds < 0 ? "-" : "",
                    static_cast<unsigned long long>(size / kSecond), static_cast<unsigned long long>(size % kSecond));
  std::string_view shown(text.data(), static_cast<std::size_t>(length));
  const std::size_t least = shown.find('.') + 1 + static_cast<std::size_t>(decimals);
  while (shown.size() > least && shown.back() == '0') shown.remove_suffix(1);
  if (shown.back() == '.') shown.remove_suffix(1);
  return std::string(shown);
}

std::optional<std::int64_t> parse_wall(std::string_view text) {
  constexpr std::int64_t kSecondsOfDay = 86'400;
  const auto days = take_date(text);
  if (!days || !take_char(text, " T")) return std::nullopt;
  const auto time = take_clock_time(text);
  if (!time || !take_char(text, ":")) return std::nullopt;
  const auto nanoseconds = take_seconds(text);
  if (!nanoseconds) return std::nullopt;
  const auto zone = take_zone(text);
  if (!zone || !text.empty()) return std::nullopt;
  const std::int64_t seconds = *days * kSecondsOfDay + (time->hour * 60 + time->minute) * 60 - *zone;
  return seconds * kSecond + *nanoseconds;
}

std::string wall_text(std::int64_t nanoseconds) {
  using std::chrono::floor;
  const std::chrono::sys_time<std::chrono::nanoseconds> instant{std::chrono::nanoseconds(nanoseconds)};
  const auto day = floor<std::chrono::days>(instant);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(instant - day);
  constexpr int kHundredNanoseconds = 100;
  std::array<char, 48> text{};
  const int length = std::snprintf(text.data(), text.size(), "%04d-%02u-%02u %02d:%02d:%02d.%07d",
                                   static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                                   static_cast<unsigned>(date.day()), static_cast<int>(time.hours().count()),
                                   static_cast<int>(time.minutes().count()), static_cast<int>(time.seconds().count()),
                                   static_cast<int>(time.subseconds().count() / kHundredNanoseconds));
  return std::string(text.data(), static_cast<std::size_t>(length));
}

}  // namespace takt::trace
