#include "route/local_time.h"

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <system_error>

namespace takt::route {

namespace {

constexpr std::size_t kLongestZone = 128;
constexpr int kDaysOfAWeek = 7;

// The C library takes an unknown zone for UTC without a word, and a path for a path.
bool is_zone(const std::string& zone) {
  const bool plain = std::all_of(zone.begin(), zone.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' || c == '_' ||
           c == '-' || c == '+';
  });
  if (!plain || zone.empty() || zone.size() > kLongestZone || zone.front() == '/') return false;
  const char* folder = std::getenv("TZDIR");
  std::error_code error;
  return std::filesystem::is_regular_file(
      std::filesystem::path(folder != nullptr ? folder : "/usr/share/zoneinfo") / zone, error);
}

}  // namespace

LocalTime local_time(std::int64_t unix_seconds) {
  const auto instant = static_cast<std::time_t>(unix_seconds);
  std::tm parts{};
  if (localtime_r(&instant, &parts) == nullptr) return {};
  return {(parts.tm_wday + kDaysOfAWeek - 1) % kDaysOfAWeek, parts.tm_hour * 60 + parts.tm_min};
}

Status set_time_zone(const std::string& zone) {
  if (zone.empty()) return {};
  if (!is_zone(zone)) {
    return Error::invalid("server.time_zone",
                          "there is no time zone '" + zone + "' on this system; an example is Europe/Berlin");
  }
  ::setenv("TZ", zone.c_str(), 1);
  ::tzset();
  return {};
}

}  // namespace takt::route
