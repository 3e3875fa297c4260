#include "live_table.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "table_text.h"

namespace takt::app {
namespace {

constexpr const char* kHead =
    "id               class      state           age    first     in    out decode prefill worst gap cached  tenant    "
    "   "
    "application\n";

// G10
TEST(LiveTable, HasALineForEachRequestWithItsStateAndItsRates) {
  const auto table = live_table(R"({"alive":3,"requests":[
    {"id":"00000000000000ab","service_class":"chat","tenant":"family","application":"","state":"decode",
     "total_seconds":2.5,"ttft_seconds":0.5,"prompt_tokens":100,"cached_tokens":64,"output_tokens":20,
     "worst_gap":{"seconds":0.2,"at_seconds":1.0},
     "spans":[{"state":"queued","from_seconds":0,"to_seconds":0.3},
       {"state":"prefill","from_seconds":0.3,"to_seconds":0.5,"tokens":36},
       {"state":"decode","from_seconds":0.5,"to_seconds":2.5,"tokens":20}]},
    {"id":"00000000000000ac","service_class":"a-very-long-class","tenant":"","application":"app","state":"queued",
     "total_seconds":0.25,"prompt_tokens":7,"queue":{"position":2,"starts_in_seconds":null},
     "spans":[{"state":"queued","from_seconds":0,"to_seconds":0.25}]}]})");
  ASSERT_TRUE(table);
  EXPECT_EQ(
      *table,
      "3 alive, the oldest 2: 1 decode, 1 queued\n" + std::string(kHead) +
          "00000000000000ab chat       decode       2.50 s 500.0 ms    100     20   10.0   180.0  200.0 ms     64  "
          "family       -\n"
          "00000000000000ac a-very-lon queued #2  250.0 ms        -      7      0      -       -         -      0  "
          "-            app\n");
}

TEST(LiveTable, APromptUnderWayHasNoRateYet) {
  const auto table = live_table(R"({"requests":[{"id":"a","state":"prefill",
    "spans":[{"state":"prefill","from_seconds":0,"to_seconds":0.5,"tokens":2000}]}]})");
  ASSERT_TRUE(table);
  EXPECT_EQ(table->find("4000"), std::string::npos) << *table;
}

TEST(LiveTable, OfNobodyItSaysSo) {
  EXPECT_EQ(live_table(R"({"alive":0,"requests":[]})").value(), "0 alive\n" + std::string(kHead));
}

TEST(LiveTable, CellsAreCutAndFilledByCharacters) {
  EXPECT_EQ(cell("Gr\xC3\xB6\xC3\x9F"
                 "e",
                 7),
            "Gr\xC3\xB6\xC3\x9F"
            "e  ");
  EXPECT_EQ(cell("12345678901\xC3\xBC"
                 "x",
                 12),
            "12345678901\xC3\xBC");
  EXPECT_EQ(first_characters("\xE2\x82\xAC\xE2\x82\xAC", 1), "\xE2\x82\xAC");
  EXPECT_EQ(first_characters("abc", 0), "");
}

TEST(LiveTable, AHugeNumberLeavesTheLinesWhole) {
  const auto table = live_table(R"({"requests":[{"id":"a","prompt_tokens":1e308},{"id":"b"}]})");
  ASSERT_TRUE(table);
  EXPECT_EQ(std::count(table->begin(), table->end(), '\n'), 4);
}

TEST(LiveTable, WhatIsNoObjectIsNotUnderstood) {
  for (const char* body : {"", "[]", "nonsense"}) EXPECT_FALSE(live_table(body)) << body;
}

}  // namespace
}  // namespace takt::app
