// What a measured run says: DESIGN's definitions over its samples, per class, per application and for short and long
// requests apart.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "measure/answer_sample.h"
#include "measure/bootstrap.h"
#include "measure/saturation.h"

namespace takt::measure {

inline constexpr std::array<double, 4> kShownQuantiles{0.5, 0.9, 0.95, 0.99};

// Of seconds, or of tokens.
struct Distribution {
  std::size_t samples = 0;
  double mean = 0.0;
  double least = 0.0;
  double most = 0.0;
  std::array<std::optional<double>, kShownQuantiles.size()> quantiles;    // where there are enough samples to tell
  std::array<std::optional<Interval>, kShownQuantiles.size()> intervals;  // 95 %, where there is a quantile
};

struct Group {
  std::string name;
  Goodput goodput;
  Interval attainment;  // 95 %; only where something was offered
  std::array<std::uint64_t, kFailureKinds> failures{};
  std::uint64_t retried = 0;

  Distribution ttft;  // from the scheduled instant
  Distribution ttft_from_send;
  Distribution itl;        // pooled
  Distribution worst_gap;  // of each answer
  Distribution tpot;
  Distribution ntpot;
  Distribution end_to_end;
  Distribution queue;          // as the server tells it
  Distribution user_speed;     // tokens per second of one answer: 1 / TPOT
  Distribution prompt_tokens;  // realised
  Distribution output_tokens;
  Targets targets;  // of its requests, where all have the same

  std::uint64_t prompt_total = 0;
  std::uint64_t cached_total = 0;  // of prompts whose server told it
  std::uint64_t prompt_total_with_cache = 0;
  std::optional<std::uint64_t> preemptions;
  std::uint64_t prompts_as_asked = 0;  // realised length equals the one asked for, of `counted`
  std::uint64_t outputs_as_asked = 0;
  std::uint64_t counted = 0;  // complete answers with the server's own counts

  std::optional<double> prefix_hit_rate() const;
};

struct SendLag {
  double p50 = 0.0;
  double p99 = 0.0;  // seconds; printed whatever the number of samples
  double most = 0.0;
  double limit = 0.0;
};

struct Verdict {
  Group overall;
  std::vector<Group> classes;
  std::vector<Group> applications;      // empty where there is one
  std::vector<Group> prompt_quartiles;  // by realised length: a quarter of the requests each
  std::vector<Group> output_quartiles;
  double window_seconds = 0.0;
  double offered_rate = 0.0;              // measured requests per second
  double output_tokens_per_second = 0.0;  // that arrived inside the window, of every request
  double prompt_tokens_per_second = 0.0;  // of measured requests
  Saturation saturation;
  SendLag lag;
  std::vector<std::string> faults;  // why the run is not valid; empty: it is
  bool valid() const { return faults.empty(); }
};

struct VerdictOptions {
  bool open_load = true;  // saturation is a matter of open loads
  double confidence = 0.95;
  std::uint64_t seed = 1;
};

Verdict judge(const MeasuredRun& run, const VerdictOptions& options = {});

}  // namespace takt::measure
