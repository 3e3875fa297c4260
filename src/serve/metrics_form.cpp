#include "serve/metrics_form.h"

#include <algorithm>
#include <charconv>

namespace takt::serve {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// Up to the separator, which is taken away too.
std::string_view take_until(std::string_view& text, char separator) {
  const auto end = text.find(separator);
  const std::string_view part = trimmed(text.substr(0, end));
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  return part;
}

// 1 where it is not said, or not as it should be.
double quality_of(std::string_view parameters) {
  while (!parameters.empty()) {
    std::string_view value = take_until(parameters, ';');
    if (!value.starts_with("q=") && !value.starts_with("Q=")) continue;
    value.remove_prefix(2);
    double quality = 1.0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), quality);
    if (error == std::errc() && end == value.data() + value.size() && quality >= 0.0 && quality <= 1.0) return quality;
  }
  return 1.0;
}

}  // namespace

bool wants_open_metrics(std::string_view accept) {
  double open = 0.0;
  double plain = 0.0;
  while (!accept.empty()) {
    std::string_view parameters = take_until(accept, ',');
    const std::string_view type = take_until(parameters, ';');
    const double quality = quality_of(parameters);
    if (type == "application/openmetrics-text") open = std::max(open, quality);
    if (type == "text/plain") plain = std::max(plain, quality);
  }
  return open > 0.0 && open >= plain;
}

}  // namespace takt::serve
