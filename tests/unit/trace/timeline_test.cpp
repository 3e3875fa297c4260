// A trace's own instants: put in order, played faster or slower, with more or fewer requests.
#include <gtest/gtest.h>

#include <set>

#include "trace/scaled_reader.h"
#include "trace/sorted_reader.h"
#include "unit/trace/read_all.h"
#include "unit/trace/statistics.h"
#include "unit/trace/temporary_folder.h"

namespace takt::trace {
namespace {

using std::chrono::milliseconds;

std::vector<Record> rest_of(Reader& reader) {
  std::vector<Record> records;
  for (auto record = reader.next(); record && *record; record = reader.next()) records.push_back(std::move(**record));
  return records;
}

std::unique_ptr<Reader> open(const TemporaryFolder& folder, const std::string& rows) {
  auto reader =
      open_trace(folder.write("t", "arrival_s,session,prefix_id,prefix_tokens,input_tokens,output_tokens\n" + rows));
  EXPECT_TRUE(reader);
  return std::move(*reader);
}

TEST(SortedReader, PutsRecordsInOrderAndKeepsThatOfEqualOnes) {
  const TemporaryFolder folder;
  auto sorted = sorted_by_arrival(open(folder, "5,,,0,1,1\n3,,,0,2,1\n4,,,0,3,1\n4,,,0,4,1\n"), OnMalformed::kRefuse);
  std::vector<std::uint32_t> prompts;
  for (const Record& record : rest_of(*sorted)) prompts.push_back(record.prompt_tokens);
  EXPECT_EQ(prompts, (std::vector<std::uint32_t>{2, 3, 4, 1}));
  EXPECT_EQ(sorted->counts().out_of_order, 0);
  expect_counts_reconcile(sorted->counts());
}

TEST(SortedReader, CountsFromTheEarliestWhereTheFileCountsFromALaterRow) {
  const TemporaryFolder folder;
  auto reader = open_trace(folder.write("t",
                                        "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 00:00:02,1,1\n"
                                        "2024-05-10 00:00:00,2,1\n2024-05-10 00:00:05,3,1\n"));
  ASSERT_TRUE(reader);
  const std::int64_t first_row = *(*reader)->origin().wall_nanoseconds;
  auto sorted = sorted_by_arrival(std::move(*reader), OnMalformed::kRefuse);
  EXPECT_EQ(sorted->origin().wall_nanoseconds, first_row - 2'000'000'000);
  std::vector<Duration> arrivals;
  for (const Record& record : rest_of(*sorted)) arrivals.push_back(record.arrival);
  EXPECT_EQ(arrivals, (std::vector<Duration>{Duration(0), std::chrono::seconds(2), std::chrono::seconds(5)}));
}

TEST(SortedReader, WhatComesLaterThanItsWindowIsAnErrorOrIsMovedAndCounted) {
  const TemporaryFolder folder;
  const std::string rows = "2,,,0,1,1\n3,,,0,1,1\n4,,,0,1,1\n1,,,0,9,1\n5,,,0,1,1\n";
  auto strict = sorted_by_arrival(open(folder, rows), OnMalformed::kRefuse, 1);
  std::optional<Error> error;
  while (!error) {
    auto record = strict->next();
    if (!record) error = record.error();
    ASSERT_TRUE(!record || *record);
  }
  EXPECT_NE(error->message.find("request 4 arrived before 1 requests"), std::string::npos) << error->message;

  auto lenient = sorted_by_arrival(open(folder, rows), OnMalformed::kSkip, 1);
  const auto records = rest_of(*lenient);
  ASSERT_EQ(records.size(), 5);
  EXPECT_TRUE(std::is_sorted(records.begin(), records.end(),
                             [](const Record& a, const Record& b) { return a.arrival < b.arrival; }));
  EXPECT_EQ(lenient->counts().out_of_order, 1);
}

TEST(ScaledReader, SpeedChangesEveryGapAndNothingElse) {
  const TemporaryFolder folder;
  auto fast = scaled(open(folder, "10,a,,0,1,1\n12,a,,0,2,1\n18,b,,0,3,1\n"), {.speed = 2.0});
  ASSERT_TRUE(fast);
  const auto records = rest_of(**fast);
  ASSERT_EQ(records.size(), 3);
  EXPECT_EQ(records[0].arrival, Duration(0));
  EXPECT_EQ(records[1].arrival, milliseconds(1000));
  EXPECT_EQ(records[2].arrival, milliseconds(4000));
  EXPECT_EQ(records[2].prompt_tokens, 3);
}

std::string bursts() {
  std::string rows;
  int session = 0;
  for (int minute = 0; minute < 100; ++minute) {
    for (int i = 0; i < 20; ++i) {
      ++session;
      rows += std::to_string(minute * 60 + i / 10) + "." + std::to_string(i % 10) + ",s" + std::to_string(session) +
              ",p,32,100,1\n";
    }
  }
  return rows;
}

TEST(ScaledReader, FewerRequestsComeInTheSameBursts) {
  const TemporaryFolder folder;
  auto half = scaled(open(folder, bursts()), {.scale = 0.5, .seed = 3});
  const auto records = rest_of(**half);
  EXPECT_NEAR(static_cast<double>(records.size()), 1000, 80);
  for (const Record& record : records) EXPECT_LE(record.arrival.count() % 60'000'000'000, 2'000'000'000);
}

TEST(ScaledReader, MoreRequestsComeInTheSameBurstsAndAreOtherConversations) {
  const TemporaryFolder folder;
  auto more = scaled(open(folder, bursts()), {.scale = 2.5, .seed = 3});
  const auto records = rest_of(**more);
  EXPECT_NEAR(static_cast<double>(records.size()), 5000, 120);
  std::set<std::string> sessions;
  std::set<std::uint64_t> prefixes;
  Duration last{0};
  std::size_t outside = 0;
  for (const Record& record : records) {
    EXPECT_LE(last, record.arrival);
    last = record.arrival;
    sessions.insert(record.session);
    prefixes.insert(record.blocks.hashes.front());
    outside += record.arrival.count() % 60'000'000'000 > 2'000'000'000 ? 1 : 0;
  }
  EXPECT_EQ(sessions.size(), records.size());
  EXPECT_EQ(prefixes.size(), 3);  // one prefix for all originals, one for each generation of copies
  EXPECT_LE(outside, 200);        // copies of the last of a burst lie in the lull behind it
}

TEST(ScaledReader, ASessionIsKeptOrLeftOutAsAWhole) {
  const TemporaryFolder folder;
  std::string rows;
  for (int turn = 0; turn < 5; ++turn) {
    for (int session = 0; session < 100; ++session)
      rows += std::to_string(turn * 100 + session) + ",s" + std::to_string(session) + ",,0,1,1\n";
  }
  auto third = scaled(open(folder, rows), {.scale = 0.3, .seed = 3});
  std::map<std::string, int> turns;
  for (const Record& record : rest_of(**third)) ++turns[record.session];
  EXPECT_GT(turns.size(), 15);
  EXPECT_LT(turns.size(), 45);
  for (const auto& [session, count] : turns) EXPECT_EQ(count, 5) << session;
}

TEST(ScaledReader, FactorsThatCannotBeAreRefused) {
  const TemporaryFolder folder;
  for (const double factor : {0.0, -1.0, 1001.0, std::nan("")}) {
    EXPECT_FALSE(scaled(open(folder, "1,,,0,1,1\n"), {.speed = factor}));
    EXPECT_FALSE(scaled(open(folder, "1,,,0,1,1\n"), {.scale = factor}));
  }
}

}  // namespace
}  // namespace takt::trace
