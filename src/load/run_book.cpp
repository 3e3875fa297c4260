#include "load/run_book.h"

#include <algorithm>
#include <utility>

namespace takt::load {

using measure::AnswerSample;

void RunBook::begin(TimePoint start) {
  begin_ = start + options_.warm_up;
}

bool RunBook::is_behind_the_offer(TimePoint scheduled) const {
  return offer_ended_.has_value() || (options_.measured && scheduled >= begin_ + *options_.measured) ||
         (options_.requests && measured_ >= *options_.requests);
}

AnswerSample RunBook::open(const PlannedRequest& plan, TimePoint scheduled, TimePoint due, TimePoint now) {
  AnswerSample sample;
  sample.number = opened_++;
  sample.class_index = plan.class_index;
  sample.application_index = applications_.index(plan.application.empty() ? "-" : plan.application);
  sample.prompt_asked = plan.text ? 0 : std::max(plan.prompt_tokens, options_.overhead + 1);
  sample.output_asked = plan.output_tokens;
  sample.record.targets = classes_[plan.class_index].targets;
  sample.record.times.scheduled = scheduled;
  sample.record.times.sent = now;
  sample.lag = std::max(Duration(0), now - due);
  if (!offer_ended_ && scheduled >= begin_ && is_behind_the_offer(scheduled)) {
    offer_ended_ = options_.measured ? std::min(scheduled, begin_ + *options_.measured) : scheduled;
  }
  sample.measured = scheduled >= begin_ && !offer_ended_;
  measured_ += sample.measured;
  measured_open_ += sample.measured;
  return sample;
}

void RunBook::keep(AnswerSample sample) {
  measured_open_ -= sample.measured;
  if (sample.measured) {
    if (const auto ttft = measure::time_to_first_token(sample.record.times)) ttft_.add(*ttft);
    for (const auto gap : sample.gaps) itl_.add(gap);
  }
  complete_ += sample.record.outcome == measure::Outcome::kComplete;
  samples_.push_back(std::move(sample));
}

void RunBook::leave_out(AnswerSample& sample) {
  measured_open_ -= sample.measured;
  sample.measured = false;
}

void RunBook::look_at(TimePoint now) {
  if (!offer_ended_ && options_.measured && now >= begin_ + *options_.measured)
    offer_ended_ = begin_ + *options_.measured;
}

void RunBook::describe(TimePoint now, RunProgress& progress) const {
  progress.warming_up = now < begin_;
  progress.draining = offer_ended_.has_value() || (options_.measured && now >= begin_ + *options_.measured);
  progress.sent = opened_;
  progress.complete = complete_;
  progress.failed = samples_.size() - complete_;
  progress.ttft_p50 = ttft_.quantile(0.5);
  progress.ttft_p99 = ttft_.quantile(0.99);
  progress.itl_p50 = itl_.quantile(0.5);
  progress.itl_p99 = itl_.quantile(0.99);
}

measure::MeasuredRun RunBook::finish() {
  measure::MeasuredRun run;
  std::sort(samples_.begin(), samples_.end(), [](const auto& a, const auto& b) {
    return std::pair(a.record.times.scheduled, a.number) < std::pair(b.record.times.scheduled, b.number);
  });
  run.begin = begin_;
  run.end = offer_ended_.value_or(begin_);
  if (!offer_ended_) {
    // Nothing came behind them: the window is the time that the whole work took.
    for (const auto& sample : samples_) {
      if (sample.measured) run.end = std::max(run.end, sample.record.times.end.value_or(begin_));
    }
  }
  run.samples = std::move(samples_);
  for (const auto& one : classes_) run.classes.push_back(one.name);
  run.applications = applications_.names();
  return run;
}

}  // namespace takt::load
