#include "unit/metrics/exposition_checker.h"

#include <cstdlib>
#include <limits>
#include <optional>
#include <regex>
#include <set>
#include <sstream>

namespace takt::metrics {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Family {
  std::string name;
  std::string type;
  bool has_help = false;
};

class Reader {
 public:
  Status line(const std::string& text) {
    if (text.rfind("# HELP ", 0) == 0) return help(text);
    if (text.rfind("# TYPE ", 0) == 0) return type(text);
    return sample(text);
  }
  Status finish() { return close_family(); }
  Samples take() { return std::move(samples_); }

 private:
  static Status wrong(const std::string& what) { return Error::invalid("metrics", what); }

  Status help(const std::string& text) {
    static const std::regex form(R"(# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) \S.*)");
    std::smatch match;
    if (!std::regex_match(text, match, form)) return wrong("HELP without a text");
    if (const auto status = close_family(); !status) return status;
    if (!names_.insert(match[1]).second) return wrong("the family appears twice");
    family_ = {match[1], "", true};
    return {};
  }

  Status type(const std::string& text) {
    static const std::regex form(R"(# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge|histogram))");
    std::smatch match;
    if (!std::regex_match(text, match, form)) return wrong("TYPE is malformed");
    if (match[1] != family_.name || !family_.type.empty()) return wrong("TYPE without its HELP, or twice");
    family_.type = match[2];
    if (family_.type == "counter" && !family_.name.ends_with("_total"))
      return wrong("a counter does not end in _total");
    return {};
  }

  Status sample(const std::string& text) {
    static const std::regex form(
        R"(([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*",?)*\})? (\S+))");
    std::smatch match;
    if (!std::regex_match(text, match, form)) return wrong("the sample is malformed");
    const std::string name = match[1];
    const std::string labels = match[2];
    char* end = nullptr;
    const std::string digits = match[3];
    const double value = std::strtod(digits.c_str(), &end);
    if (end == digits.c_str() || *end != '\0') return wrong("the value is no number");
    if (family_.type.empty()) return wrong("a sample before its TYPE");
    if (!samples_.emplace(name + labels, value).second) return wrong("the sample appears twice");
    if (family_.type == "histogram") return histogram_sample(name, labels, value);
    if (name != family_.name) return wrong("a sample of another family");
    if (family_.type == "counter" && !(value >= 0.0)) return wrong("a counter is negative");
    return {};
  }

  Status histogram_sample(const std::string& name, const std::string& labels, double value) {
    static const std::regex bound_form(R"re((.*?),?le="([^"]+)"\})re");
    if (name == family_.name + "_bucket") {
      std::smatch match;
      if (!std::regex_match(labels, match, bound_form)) return wrong("a bucket without its bound");
      const double bound = match[2] == "+Inf" ? kInfinity : std::strtod(std::string(match[2]).c_str(), nullptr);
      auto& series = series_[match[1].str() + (match[1] == "{" ? "" : "}")];
      if (series.bucket && (bound <= series.bound || value < *series.bucket)) return wrong("buckets fall");
      series.bucket = value;
      series.bound = bound;
      return {};
    }
    if (name == family_.name + "_count") {
      counts_[labels.empty() ? "{" : labels] = value;
      return {};
    }
    return name == family_.name + "_sum" ? Status() : wrong("a sample of another family");
  }

  Status close_family() {
    if (!family_.name.empty() && family_.type.empty()) return wrong("HELP without TYPE");
    for (const auto& [labels, series] : series_) {
      const auto count = counts_.find(labels);
      if (series.bound != kInfinity) return wrong("no +Inf bucket");
      if (count == counts_.end() || count->second != *series.bucket) return wrong("the last bucket is not the count");
    }
    if (series_.size() != counts_.size()) return wrong("a count without buckets");
    series_.clear();
    counts_.clear();
    return {};
  }

  struct Series {
    std::optional<double> bucket;
    double bound = 0.0;
  };
  Family family_;
  std::set<std::string> names_;
  std::map<std::string, Series> series_;
  std::map<std::string, double> counts_;
  Samples samples_;
};

}  // namespace

Result<Samples> parse_strictly(const std::string& text) {
  if (text.empty() || text.back() != '\n') return Error::invalid("metrics", "the text does not end with a line feed");
  Reader reader;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (const auto status = reader.line(line); !status) {
      return Error::invalid("metrics", "line " + std::to_string(number) + ": " + status.error().message + ": " + line);
    }
  }
  if (const auto status = reader.finish(); !status) return status.error();
  return reader.take();
}

}  // namespace takt::metrics
