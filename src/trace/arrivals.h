// When requests are sent in an open loop: a rate that changes over time, and how irregular the gaps are around it.
// Everything is a function of the seed and a counter: the n-th arrival never depends on who asks, or when.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace takt::trace {

// The rate over one stretch of time; it changes evenly from its begin to its end.
struct RateSegment {
  Duration length{0};
  double begin_rps = 0.0;
  double end_rps = 0.0;
  // Shape of the gamma distribution of the gaps. 1: Poisson. Below 1: bursts (the gaps' coefficient of variation is
  // 1 / sqrt(burstiness)). Above: more even. Infinite: even.
  double burstiness = 1.0;
};
inline constexpr double kEvenGaps = std::numeric_limits<double>::infinity();

// One stretch after the other.
class RateProfile {
 public:
  virtual ~RateProfile() = default;
  // The index-th stretch; empty behind the last. The same for the same index.
  virtual std::optional<RateSegment> segment(std::uint64_t index) const = 0;
};

// Errors of all of these: kInvalidArgument: a rate or length below 0, not finite, or nothing above 0 at all.

// For ever where no length is given.
Result<std::unique_ptr<RateProfile>> constant_rate(double rps, double burstiness,
                                                   std::optional<Duration> length = std::nullopt);
Result<std::unique_ptr<RateProfile>> rate_ramp(double from_rps, double to_rps, Duration length, double burstiness);
// Steps, or any other course.
Result<std::unique_ptr<RateProfile>> rate_course(std::vector<RateSegment> segments);

struct OnOffOptions {
  double on_rps = 1.0;
  double off_rps = 0.0;
  Duration on{0};              // how long a time of `on_rps` lasts, on average
  Duration off{0};             // likewise
  bool random_lengths = true;  // exponentially distributed; else all are alike
  double burstiness = 1.0;     // within a time
};
// Times of more and of less, for ever, beginning with more.
Result<std::unique_ptr<RateProfile>> on_off_rate(const OnOffOptions& options, std::uint64_t seed);

// Instants of requests after a start, in order.
class ArrivalProcess {
 public:
  virtual ~ArrivalProcess() = default;
  // Empty: no more.
  virtual std::optional<Duration> next() = 0;
};

// Gaps of mean 1 are drawn and laid out along the integral of the rate (the time-change theorem for renewal processes;
// Brown et al., Neural Computation 14, 2002), so that the profile holds whatever the burstiness.
std::unique_ptr<ArrivalProcess> arrivals(std::unique_ptr<RateProfile> profile, std::uint64_t seed);

}  // namespace takt::trace
