// Families of metrics as the client library serialises them, filled one after the other.
#pragma once

#include <prometheus/metric_family.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "metrics/histogram.h"

namespace takt::metrics {

using MetricLabels = std::vector<prometheus::ClientMetric::Label>;

// Of a bucket; without a request there is none.
struct NamedExemplar {
  std::string request;
  double value = 0.0;
};
using NamedExemplars = std::vector<NamedExemplar>;

class Families {
 public:
  using ExemplarsOf = std::function<const NamedExemplars*(std::size_t metric)>;

  // The values that follow belong to this family.
  void begin(prometheus::MetricType type, std::string name, std::string help) {
    families_.push_back({std::move(name), std::move(help), type, {}});
  }

  void value(double value, MetricLabels labels = {}) {
    prometheus::ClientMetric metric;
    metric.label = std::move(labels);
    const bool counter = families_.back().type == prometheus::MetricType::Counter;
    (counter ? metric.counter.value : metric.gauge.value) = value;
    families_.back().metric.push_back(std::move(metric));
  }

  void value(const Histogram& histogram, MetricLabels labels) {
    prometheus::ClientMetric metric;
    metric.label = std::move(labels);
    metric.histogram.sample_count = histogram.count();
    metric.histogram.sample_sum = histogram.sum();
    std::uint64_t cumulative = 0;
    for (std::size_t i = 0; i <= histogram.bounds().size(); ++i) {
      cumulative += histogram.in_bucket(i);
      const bool last = i == histogram.bounds().size();
      metric.histogram.bucket.push_back(
          {cumulative, last ? std::numeric_limits<double>::infinity() : histogram.bounds()[i]});
    }
    families_.back().metric.push_back(std::move(metric));
  }

  // Of the histogram that was added last, by bucket.
  void exemplars(NamedExemplars exemplars) {
    exemplars_[{families_.size() - 1, families_.back().metric.size() - 1}] = std::move(exemplars);
  }
  // Null: there are none.
  const NamedExemplars* exemplars(std::size_t family, std::size_t metric) const {
    const auto found = exemplars_.find({family, metric});
    return found == exemplars_.end() ? nullptr : &found->second;
  }

  const std::vector<prometheus::MetricFamily>& all() const { return families_; }

 private:
  std::vector<prometheus::MetricFamily> families_;
  std::map<std::pair<std::size_t, std::size_t>, NamedExemplars> exemplars_;  // by the places of family and metric
};

}  // namespace takt::metrics
