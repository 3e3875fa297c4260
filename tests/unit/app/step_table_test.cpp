#include "step_table.h"

#include <gtest/gtest.h>

#include "step_picture.h"

namespace takt::app {
namespace {

// A mark that a table has is explained in it, and one that it has not is not.
TEST(StepTable, TheMarkOfAnOverrunHasALegend) {
  StepView step;
  step.plan.budget = std::chrono::milliseconds(50);
  EXPECT_EQ(step_table_row(step).find('!'), std::string::npos);
  EXPECT_EQ(step_html({step}, "steps").find(step_table_legend()), std::string::npos);
  step.plan.beat_overrun = true;
  EXPECT_NE(step_table_row(step).find("50!"), std::string::npos);
  EXPECT_NE(step_html({step}, "steps").find(step_table_legend()), std::string::npos);
}

}  // namespace
}  // namespace takt::app
