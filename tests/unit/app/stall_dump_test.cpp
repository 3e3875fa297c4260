#include <gtest/gtest.h>

#include "stall_watch.h"

namespace takt::app {
namespace {

TEST(StallDump, SaysWhetherAStepRunsHasRunOrNoneHas) {
  StallReport report;
  EXPECT_EQ(stall_dump("m", report).front(),
            "m: no step has run yet; 0.0 s since the last progress; 0 sequences here, 0 further back");
  report.step = StepId(7);
  EXPECT_NE(stall_dump("m", report).front().find("step 7 is over"), std::string::npos);
  report.executing = true;
  EXPECT_NE(stall_dump("m", report).front().find("step 7 is with the executor"), std::string::npos);
}

}  // namespace
}  // namespace takt::app
