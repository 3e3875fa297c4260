#include "trace/rates.h"

#include <gtest/gtest.h>

#include "unit/trace/temporary_folder.h"

namespace takt::trace {
namespace {

using std::chrono::seconds;

TEST(Rates, ATableOfWindowsIsReadByItsNames) {
  const TemporaryFolder folder;
  const auto table = read_rates(folder.write("r", "t_s,total_rps,c61_rps,c61_cv\n0,5,2,1\n600,9,4.5,2\n1200,1,0,0\n"));
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->window, seconds(600));
  EXPECT_EQ(table->total_rps, (std::vector<double>{5, 9, 1}));
  ASSERT_EQ(table->clients.size(), 1);
  EXPECT_EQ(table->clients[0].name, "c61");
  EXPECT_EQ(table->clients[0].windows[1].rps, 4.5);
}

TEST(Rates, AClientArrivesAtTheRateOfEachWindow) {
  const TemporaryFolder folder;
  const auto table = read_rates(folder.write("r", "t_s,total_rps,a_rps,a_cv\n0,5,20,1\n600,9,40,2\n1200,1,0,0\n"));
  auto profile = rates_of(*table, table->clients[0], 0.5);
  ASSERT_TRUE(profile);
  auto process = arrivals(std::move(*profile), 1);
  std::array<int, 3> counts{};
  while (const auto at = process->next()) ++counts.at(static_cast<std::size_t>(to_seconds(*at) / 600));
  EXPECT_NEAR(counts[0], 6'000, 250);
  EXPECT_NEAR(counts[1], 12'000, 800);
  EXPECT_EQ(counts[2], 0);
}

TEST(Rates, WhatIsWrongIsNamedWithItsLine) {
  const TemporaryFolder folder;
  const auto error_of = [&](const char* text) {
    const auto table = read_rates(folder.write("r", text));
    return table ? std::string() : table.error().message;
  };
  EXPECT_NE(error_of("t_s,total_rps,a_rps,a_cv\n0,5,x,1\n").find(":2: the values of a"), std::string::npos);
  EXPECT_NE(error_of("t_s,total_rps,a_rps,a_cv\n0,5,1,-1\n").find(":2: "), std::string::npos);
  EXPECT_NE(error_of("t_s,total_rps\n0,5\n600,5\n700,5\n").find(":4: its window is not as long"), std::string::npos);
  EXPECT_NE(error_of("t_s,total_rps\n0,5\n0,5\n").find(":3: "), std::string::npos);
  EXPECT_NE(error_of("t_s,total_rps,a_rps\n0,5,1\n").find(":1: "), std::string::npos);
  EXPECT_NE(error_of("t_s,total_rps\n0\n").find(":2: "), std::string::npos);
  EXPECT_NE(error_of("t_s,total_rps\n").find("has no windows"), std::string::npos);
  EXPECT_NE(error_of("a,b\n").find(":1: "), std::string::npos);
}

}  // namespace
}  // namespace takt::trace
