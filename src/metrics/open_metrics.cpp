#include "metrics/open_metrics.h"

#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

namespace takt::metrics {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricType;

constexpr std::string_view kTotal = "_total";

std::string number_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0.0 ? "+Inf" : "-Inf";
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  return {digits.data(), end};
}

// Of a bucket: whole ones have a point, so that equal bounds are equal text everywhere.
std::string bound_text(double bound) {
  std::string text = number_text(bound);
  if (text.find_first_of(".eI") == std::string::npos) text += ".0";
  return text;
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\n') {
      result += "\\n";
      continue;
    }
    if (c == '\\' || c == '"') result += '\\';
    result += c;
  }
  return result;
}

std::string label_text(const std::string& name, std::string_view value) {
  return name + "=\"" + escaped(value) + "\"";
}

std::string labels_text(const MetricLabels& labels, const std::string& last = {}) {
  std::string text;
  for (const auto& label : labels) text += (text.empty() ? "" : ",") + label_text(label.name, label.value);
  if (!last.empty()) text += (text.empty() ? "" : ",") + last;
  return text.empty() ? text : "{" + text + "}";
}

const char* type_text(MetricType type) {
  if (type == MetricType::Counter) return "counter";
  return type == MetricType::Histogram ? "histogram" : "gauge";
}

class Writer {
 public:
  void add(const prometheus::MetricFamily& family, const Families::ExemplarsOf& exemplars_of) {
    // A counter's family is named without what its samples end in.
    std::string_view name = family.name;
    if (family.type == MetricType::Counter && name.ends_with(kTotal)) name.remove_suffix(kTotal.size());
    text_ += "# TYPE " + std::string(name) + " " + type_text(family.type) + "\n";
    text_ += "# HELP " + std::string(name) + " " + escaped(family.help) + "\n";
    for (std::size_t i = 0; i < family.metric.size(); ++i) {
      const ClientMetric& metric = family.metric[i];
      if (family.type == MetricType::Histogram) {
        add_histogram(family.name, metric, exemplars_of(i));
      } else {
        const bool counter = family.type == MetricType::Counter;
        add_sample(std::string(name) + (counter ? std::string(kTotal) : std::string()), labels_text(metric.label),
                   counter ? metric.counter.value : metric.gauge.value);
      }
    }
  }
  std::string finish() { return std::move(text_) + "# EOF\n"; }

 private:
  void add_sample(const std::string& name, const std::string& labels, double value, const std::string& exemplar = {}) {
    text_ += name + labels + " " + number_text(value) + exemplar + "\n";
  }

  void add_histogram(const std::string& name, const ClientMetric& metric, const NamedExemplars* exemplars) {
    const auto& histogram = metric.histogram;
    for (std::size_t b = 0; b < histogram.bucket.size(); ++b) {
      const auto& bucket = histogram.bucket[b];
      std::string exemplar;
      if (exemplars != nullptr && !(*exemplars)[b].request.empty())
        exemplar =
            " # {" + label_text("request_id", (*exemplars)[b].request) + "} " + number_text((*exemplars)[b].value);
      add_sample(name + "_bucket", labels_text(metric.label, label_text("le", bound_text(bucket.upper_bound))),
                 static_cast<double>(bucket.cumulative_count), exemplar);
    }
    add_sample(name + "_count", labels_text(metric.label), static_cast<double>(histogram.sample_count));
    add_sample(name + "_sum", labels_text(metric.label), histogram.sample_sum);
  }

  std::string text_;
};

}  // namespace

std::string to_open_metrics(const Families& families) {
  Writer writer;
  for (std::size_t f = 0; f < families.all().size(); ++f)
    writer.add(families.all()[f], [&](std::size_t metric) { return families.exemplars(f, metric); });
  return writer.finish();
}

}  // namespace takt::metrics
