#include "serve/metrics_form.h"

#include <gtest/gtest.h>

namespace takt::serve {
namespace {

TEST(MetricsForm, OpenMetricsIsForThoseWhoAskForIt) {
  EXPECT_FALSE(wants_open_metrics(""));
  EXPECT_FALSE(wants_open_metrics("*/*"));
  EXPECT_FALSE(wants_open_metrics("text/plain;version=0.0.4"));
  EXPECT_FALSE(wants_open_metrics("application/openmetrics-text-not"));
  EXPECT_TRUE(wants_open_metrics("application/openmetrics-text"));
  EXPECT_TRUE(wants_open_metrics("application/openmetrics-text; version=1.0.0, text/plain"));
  // As a Prometheus asks.
  EXPECT_TRUE(
      wants_open_metrics("application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
                         "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"));
  EXPECT_FALSE(wants_open_metrics("application/openmetrics-text;q=0.2, text/plain;q=0.9"));
  EXPECT_FALSE(wants_open_metrics("application/openmetrics-text;q=0"));
}

TEST(MetricsForm, AnyHeaderIsReadToItsEnd) {
  for (const char* accept : {",", ";", ",,;;q=", "q=1", "application/openmetrics-text;q=2;q=", " , ;q=0.5"})
    EXPECT_NO_FATAL_FAILURE(static_cast<void>(wants_open_metrics(accept))) << accept;
  EXPECT_TRUE(wants_open_metrics("application/openmetrics-text;q=nonsense"));
}

}  // namespace
}  // namespace takt::serve
