// Families as OpenMetrics text 1.0.0, which can name a request beside a bucket (exemplars).
#pragma once

#include <string>

#include "metrics/families.h"

namespace takt::metrics {

inline constexpr const char* kOpenMetricsContentType = "application/openmetrics-text; version=1.0.0; charset=utf-8";

std::string to_open_metrics(const Families& families);

}  // namespace takt::metrics
