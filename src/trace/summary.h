// What a trace is like: counts, rates, lengths, reuse.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "base/clock.h"
#include "trace/record.h"

namespace takt::trace {

// Counts of numbers, in memory that has a bound: above 4,096 they are kept to about 1 in 2,000.
class CountedNumbers {
 public:
  void add(std::uint32_t number);
  std::uint64_t count() const { return count_; }
  double mean() const { return count_ == 0 ? 0.0 : sum_ / static_cast<double>(count_); }
  // Linear between the neighbours; 0 without numbers.
  double percentile(double share) const;

 private:
  std::map<std::uint32_t, std::uint64_t> numbers_;
  std::uint64_t count_ = 0;
  double sum_ = 0.0;
};

class Summary {
 public:
  void add(const Record& record);

  std::uint64_t records() const { return prompt_.count(); }
  const CountedNumbers& prompt() const { return prompt_; }
  const CountedNumbers& output() const { return output_; }
  Duration span() const { return records() == 0 ? Duration(0) : last_ - first_; }
  double requests_per_second() const;
  // Of the gaps between arrivals, in order; empty with fewer than three.
  std::optional<double> gap_variation() const;
  // Variance by mean of the arrivals per second: 1 for Poisson.
  std::optional<double> dispersion() const;
  // Prompt tokens that an unlimited cache would have found, as a share; empty where the trace has no hashes.
  std::optional<double> reusable_share() const;
  // True: there were more distinct blocks than are kept, and more would be found.
  bool reuse_is_a_lower_bound() const { return blocks_full_; }

  using Names = std::map<std::string, std::uint64_t>;
  const Names& classes() const { return classes_; }
  const Names& applications() const { return applications_; }
  const Names& outcomes() const { return outcomes_; }
  std::uint64_t sessions() const { return with_session_; }

 private:
  void add_arrival(Duration arrival);
  void add_blocks(const Record& record);

  CountedNumbers prompt_;
  CountedNumbers output_;
  Duration first_{0};
  Duration last_{0};
  std::uint64_t gaps_ = 0;
  double gap_sum_ = 0.0;
  double gap_squares_ = 0.0;
  std::optional<std::int64_t> second_;  // of the run of arrivals that is being counted
  std::uint64_t in_second_ = 0;
  double second_squares_ = 0.0;
  std::unordered_set<std::uint64_t> blocks_;
  bool blocks_full_ = false;
  bool has_blocks_ = false;
  double reusable_ = 0.0;
  Names classes_;
  Names applications_;
  Names outcomes_;
  std::uint64_t with_session_ = 0;
};

}  // namespace takt::trace
