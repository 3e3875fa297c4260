// The highest offered rate at which enough requests still meet their targets: which rate to try next, and when to stop.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "measure/bootstrap.h"

namespace takt::measure {

struct CapacityOptions {
  double attainment = 0.9;
  double first_rate = 1.0;  // requests per second, above 0
  double grain = 0.05;      // ends when the bracket is this narrow, as a ratio
  std::uint32_t most_tries = 12;
};

struct RateTrial {
  double rate = 0.0;
  double attainment = 0.0;
  Interval interval;     // of the attainment
  double goodput = 0.0;  // requests per second
  bool saturated = false;
  bool valid = true;  // the run says something about the server: somebody answered, and the load generator kept up
};

// Doubles the rate until it is too much (or halves it until it is not), then bisects in its logarithm.
//
// A run that is not valid says nothing about the server, so it bounds nothing: its rate is tried once more, and when
// that is not valid either the search ends where it is.
class CapacitySearch {
 public:
  explicit CapacitySearch(CapacityOptions options) : options_(options), next_(options.first_rate) {}

  // Empty when the search is over.
  std::optional<double> next_rate() const { return next_; }
  // What became of the run at next_rate().
  void note(const RateTrial& trial);

  const std::vector<RateTrial>& trials() const { return trials_; }
  // The rate at which the search had to end, since no run there was valid.
  std::optional<double> stopped_at() const { return stopped_at_; }
  // Empty: no rate that was tried was carried.
  std::optional<double> capacity() const { return carried_; }
  // Whether any rate was too much. Without, the capacity is a lower bound: the search ended before a miss.
  bool is_bounded() const { return too_much_.has_value(); }
  // The capacity lies between: the lowest rate that might have been too much and the highest that might have been
  // carried, by the trials' own intervals. Only with capacity(), and bounded.
  Interval interval() const;

 private:
  bool carries(const RateTrial& trial) const;
  void note_invalid(const RateTrial& trial);

  CapacityOptions options_;
  std::optional<double> next_;
  std::optional<double> carried_;
  std::optional<double> too_much_;
  std::optional<double> stopped_at_;
  std::vector<RateTrial> trials_;
};

}  // namespace takt::measure
