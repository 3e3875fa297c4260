#include "load/arrival_words.h"

#include <charconv>
#include <memory>
#include <string_view>
#include <vector>

#include "trace/arrivals.h"

namespace takt::load {
namespace {

using Arrivals = std::function<std::optional<Duration>()>;
using Profile = Result<std::unique_ptr<trace::RateProfile>>;

constexpr std::size_t kMostSteps = 10'000;

Error arrival_error(const std::string& why) {
  return Error::invalid("arrivals", "arrivals: " + why);
}

// "1,2.5,3"
Result<std::vector<double>> read_numbers(std::string_view text) {
  std::vector<double> numbers;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    double value = 0.0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc() || (next < end && *next != ',') || !(value >= 0.0) || numbers.size() == kMostSteps)
      return arrival_error("'" + std::string(text.substr(0, 60)) + "' is no list of numbers from 0, at most 10,000");
    numbers.push_back(value);
    at = next < end ? next + 1 : end;
  }
  return numbers;
}

Profile profile_of(const ArrivalRequest& request, std::string_view kind, const std::vector<double>& numbers) {
  if (kind == "poisson" && numbers.empty()) return trace::constant_rate(request.rate, 1.0);
  if (kind == "even" && numbers.empty()) return trace::constant_rate(request.rate, trace::kEvenGaps);
  if (kind == "gamma" && numbers.size() == 1) return trace::constant_rate(request.rate, numbers[0]);
  if (kind == "onoff" && numbers.size() == 3) {
    trace::OnOffOptions options;
    options.on_rps = request.rate;
    options.off_rps = numbers[0] * request.rate_factor;
    options.on = from_seconds(numbers[1]);
    options.off = from_seconds(numbers[2]);
    return trace::on_off_rate(options, request.seed);
  }
  if (kind == "ramp" && numbers.size() == 1)
    return trace::rate_ramp(request.rate, numbers[0] * request.rate_factor, request.span, 1.0);
  if (kind == "steps" && !numbers.empty()) {
    std::vector<trace::RateSegment> steps;
    for (const double number : numbers) {
      const double rate = number * request.rate_factor;
      steps.push_back({request.span / static_cast<std::int64_t>(numbers.size()), rate, rate, 1.0});
    }
    return trace::rate_course(std::move(steps));
  }
  return arrival_error("'" + request.words +
                       "' is none of poisson, even, gamma:B, onoff:OFF_RATE,ON_S,OFF_S, ramp:TO, "
                       "steps:R,R,..., burst");
}

}  // namespace

Result<Arrivals> make_arrivals(const ArrivalRequest& request) {
  if (request.words == "burst") {
    return Arrivals([left = request.most]() mutable -> std::optional<Duration> {
      if (left == 0) return std::nullopt;
      --left;
      return Duration(0);
    });
  }
  const std::string_view words = request.words;
  const auto colon = words.find(':');
  const auto numbers = read_numbers(colon == std::string_view::npos ? std::string_view() : words.substr(colon + 1));
  if (!numbers) return numbers.error();
  auto profile = profile_of(request, words.substr(0, colon), *numbers);
  if (!profile) return profile.error();
  std::shared_ptr<trace::ArrivalProcess> process = trace::arrivals(std::move(*profile), request.seed);
  return Arrivals([process] { return process->next(); });
}

}  // namespace takt::load
