// Families of metrics as the client library serialises them, filled one after the other.
#pragma once

#include <prometheus/metric_family.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "metrics/histogram.h"

namespace takt::metrics {

using MetricLabels = std::vector<prometheus::ClientMetric::Label>;

class Families {
 public:
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

  const std::vector<prometheus::MetricFamily>& all() const { return families_; }

 private:
  std::vector<prometheus::MetricFamily> families_;
};

}  // namespace takt::metrics
