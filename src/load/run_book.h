// What a run comes to: which requests are measured, and the samples that their answers give.
//
// Measured are those whose scheduled instants lie behind the warm-up and before the offer's end: the time or the number
// that was asked for, whichever comes first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "load/live_histogram.h"
#include "load/load_run.h"
#include "load/name_table.h"
#include "load/planned_request.h"
#include "measure/answer_sample.h"

namespace takt::load {

class RunBook {
 public:
  // Both outlive it; `classes` may grow.
  RunBook(const RunOptions& options, const std::vector<LoadClass>& classes) : options_(options), classes_(classes) {}

  // The warm-up begins.
  void begin(TimePoint start);

  // Of a request that is sent now. `due`: when it could be sent; later than `scheduled` where something was waited for
  // that is not ours.
  measure::AnswerSample open(const PlannedRequest& plan, TimePoint scheduled, TimePoint due, TimePoint now);
  // Its request is over, and the sample final.
  void keep(measure::AnswerSample sample);
  // It was cut by whoever stopped the run, not by the server: it does not count.
  void leave_out(measure::AnswerSample& sample);

  // Ends the offer when its time is over, also when nothing arrives that would notice.
  void look_at(TimePoint now);
  const std::optional<TimePoint>& offer_ended() const { return offer_ended_; }
  // Measured requests that are not over.
  std::size_t measured_open() const { return measured_open_; }

  // Its counts, phase and quantiles.
  void describe(TimePoint now, RunProgress& progress) const;
  // In the order of scheduled instants. Once, when all is over.
  measure::MeasuredRun finish();

 private:
  bool is_behind_the_offer(TimePoint scheduled) const;

  const RunOptions& options_;
  const std::vector<LoadClass>& classes_;
  NameTable applications_;
  TimePoint begin_;                       // of what is measured
  std::optional<TimePoint> offer_ended_;  // measured requests are offered until here
  std::uint64_t opened_ = 0;
  std::uint64_t measured_ = 0;
  std::size_t measured_open_ = 0;
  std::uint64_t complete_ = 0;
  std::vector<measure::AnswerSample> samples_;
  LiveHistogram ttft_, itl_;
};

}  // namespace takt::load
