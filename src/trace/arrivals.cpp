#include "trace/arrivals.h"

#include <cmath>
#include <utility>

#include "trace/draws.h"
#include "trace/mix.h"

namespace takt::trace {
namespace {

constexpr std::uint64_t kPeriodDraws = 0x6F6E6F6666;  // apart from those of the gaps
constexpr Duration kForEver = std::chrono::hours(24 * 366 * 100);

bool is_rate(double rps) {
  return std::isfinite(rps) && rps >= 0.0;
}

Status check_segment(const RateSegment& segment) {
  if (!is_rate(segment.begin_rps) || !is_rate(segment.end_rps))
    return Error::invalid("rate", "a rate must be a number of requests per second, at least 0");
  if (segment.length < Duration(0)) return Error::invalid("length", "a length must be at least 0");
  if (!(segment.burstiness > 0.0)) return Error::invalid("burstiness", "burstiness must be above 0");
  return {};
}

class CourseProfile final : public RateProfile {
 public:
  explicit CourseProfile(std::vector<RateSegment> segments) : segments_(std::move(segments)) {}
  std::optional<RateSegment> segment(std::uint64_t index) const override {
    if (index >= segments_.size()) return std::nullopt;
    return segments_[index];
  }

 private:
  const std::vector<RateSegment> segments_;
};

class OnOffProfile final : public RateProfile {
 public:
  OnOffProfile(const OnOffOptions& options, std::uint64_t seed) : options_(options), key_(mix(seed, kPeriodDraws)) {}
  std::optional<RateSegment> segment(std::uint64_t index) const override {
    const bool on = index % 2 == 0;
    const double rate = on ? options_.on_rps : options_.off_rps;
    const Duration mean = on ? options_.on : options_.off;
    const double share = options_.random_lengths ? draw_exponential(key_, index) : 1.0;
    return RateSegment{from_seconds(to_seconds(mean) * share), rate, rate, options_.burstiness};
  }

 private:
  const OnOffOptions options_;
  const std::uint64_t key_;
};

// Expected arrivals in the first `seconds` of a segment.
double mass_until(const RateSegment& segment, double seconds) {
  const double length = to_seconds(segment.length);
  const double slope = length > 0.0 ? (segment.end_rps - segment.begin_rps) / length : 0.0;
  return seconds * (segment.begin_rps + 0.5 * slope * seconds);
}

// Seconds into a segment until so many arrivals are expected; `mass` is at most the segment's.
double time_of_mass(const RateSegment& segment, double mass) {
  const double length = to_seconds(segment.length);
  const double slope = (segment.end_rps - segment.begin_rps) / length;
  // Of the two forms of the root, the one that does not cancel, also where the slope is 0.
  const double root = std::sqrt(std::max(0.0, segment.begin_rps * segment.begin_rps + 2.0 * slope * mass));
  const double denominator = segment.begin_rps + root;
  return denominator > 0.0 ? std::min(length, 2.0 * mass / denominator) : length;
}

class RenewalArrivals final : public ArrivalProcess {
 public:
  RenewalArrivals(std::unique_ptr<RateProfile> profile, std::uint64_t seed)
      : profile_(std::move(profile)), seed_(seed), segment_(profile_->segment(0)) {}

  std::optional<Duration> next() override {
    if (!segment_) return std::nullopt;
    double left = draw_gamma(seed_, drawn_++, segment_->burstiness);
    while (segment_) {
      const double until_end = mass_until(*segment_, to_seconds(segment_->length)) - mass_;
      if (left <= until_end && until_end > 0.0) {
        mass_ += left;
        return begin_ + from_seconds(time_of_mass(*segment_, mass_));
      }
      left -= until_end;
      begin_ += segment_->length;
      mass_ = 0.0;
      segment_ = profile_->segment(++index_);
    }
    return std::nullopt;
  }

 private:
  const std::unique_ptr<RateProfile> profile_;
  const std::uint64_t seed_;
  std::optional<RateSegment> segment_;
  std::uint64_t index_ = 0;
  Duration begin_{0};  // of the segment
  double mass_ = 0.0;  // of the segment, behind the last arrival
  std::uint64_t drawn_ = 0;
};

}  // namespace

Result<std::unique_ptr<RateProfile>> rate_course(std::vector<RateSegment> segments) {
  bool any = false;
  for (const RateSegment& segment : segments) {
    if (const Status sound = check_segment(segment); !sound) return sound.error();
    any = any || (segment.length > Duration(0) && segment.begin_rps + segment.end_rps > 0.0);
  }
  if (!any) return Error::invalid("rate", "no stretch of time has a rate above 0");
  return std::unique_ptr<RateProfile>(std::make_unique<CourseProfile>(std::move(segments)));
}

Result<std::unique_ptr<RateProfile>> constant_rate(double rps, double burstiness, std::optional<Duration> length) {
  return rate_course({{length.value_or(kForEver), rps, rps, burstiness}});
}

Result<std::unique_ptr<RateProfile>> rate_ramp(double from_rps, double to_rps, Duration length, double burstiness) {
  return rate_course({{length, from_rps, to_rps, burstiness}});
}

Result<std::unique_ptr<RateProfile>> on_off_rate(const OnOffOptions& options, std::uint64_t seed) {
  for (const RateSegment& time : {RateSegment{options.on, options.on_rps, options.on_rps, options.burstiness},
                                  RateSegment{options.off, options.off_rps, options.off_rps, options.burstiness}}) {
    if (const Status sound = check_segment(time); !sound) return sound.error();
  }
  const double arrivals_of_a_cycle =
      options.on_rps * to_seconds(options.on) + options.off_rps * to_seconds(options.off);
  if (!(arrivals_of_a_cycle > 0.0))
    return Error::invalid("rate", "neither of the two times has a length and a rate above 0");
  return std::unique_ptr<RateProfile>(std::make_unique<OnOffProfile>(options, seed));
}

std::unique_ptr<ArrivalProcess> arrivals(std::unique_ptr<RateProfile> profile, std::uint64_t seed) {
  return std::make_unique<RenewalArrivals>(std::move(profile), seed);
}

}  // namespace takt::trace
