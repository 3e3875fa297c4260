// Several traces as one, traces without people, and what a trace is like.
#include <gtest/gtest.h>

#include <cmath>

#include "trace/anonymiser.h"
#include "trace/column_table.h"
#include "trace/merged_reader.h"
#include "trace/summary.h"
#include "unit/trace/full_record.h"
#include "unit/trace/read_all.h"
#include "unit/trace/temporary_folder.h"

namespace takt::trace {
namespace {

using std::chrono::seconds;

std::vector<std::unique_ptr<Reader>> open_all(const std::vector<std::string>& paths) {
  std::vector<std::unique_ptr<Reader>> readers;
  for (const std::string& path : paths) {
    auto reader = open_trace(path);
    EXPECT_TRUE(reader) << path;
    readers.push_back(std::move(*reader));
  }
  return readers;
}

TEST(MergedReader, RecordsOfAllTracesComeInOrderAndSessionsStayApart) {
  const TemporaryFolder folder;
  auto both = merged(open_all({folder.write("a", "arrival_s,session,input_tokens,output_tokens\n1,s,1,1\n5,s,2,1\n"),
                               folder.write("b", "arrival_s,session,input_tokens,output_tokens\n0,s,3,1\n4,,4,1\n")}),
                     Align::kStart);
  ASSERT_TRUE(both);
  std::vector<std::uint32_t> prompts;
  std::vector<std::string> sessions;
  for (auto record = (*both)->next(); record && *record; record = (*both)->next()) {
    prompts.push_back((*record)->prompt_tokens);
    sessions.push_back((*record)->session);
  }
  EXPECT_EQ(prompts, (std::vector<std::uint32_t>{3, 1, 4, 2}));
  EXPECT_EQ(sessions, (std::vector<std::string>{"s@1", "s@0", "", "s@0"}));
  EXPECT_EQ((*both)->counts().records, 4);
  expect_counts_reconcile((*both)->counts());
}

TEST(MergedReader, TheWallClockSaysHowFarApartTheyAre) {
  const TemporaryFolder folder;
  const std::string late =
      folder.write("a", "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 00:00:10,1,1\n2024-05-10 00:00:12,1,1\n");
  const std::string early = folder.write("b", "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 00:00:03,2,1\n");
  auto both = merged(open_all({late, early}), Align::kWall);
  ASSERT_TRUE(both);
  EXPECT_EQ((*both)->next()->value().arrival, Duration(0));
  EXPECT_EQ((*both)->next()->value().arrival, seconds(7));
  EXPECT_EQ((*both)->next()->value().arrival, seconds(9));

  const std::string none = folder.write("c", "arrival_s,input_tokens,output_tokens\n0,3,1\n");
  EXPECT_NE(merged(open_all({late, none}), Align::kWall).error().message.find("does not say when it was"),
            std::string::npos);
  const std::string lengths = folder.write("d", "input_tokens,output_tokens\n3,1\n");
  EXPECT_NE(merged(open_all({late, lengths}), Align::kStart).error().message.find("has no instants"),
            std::string::npos);
  EXPECT_FALSE(merged({}, Align::kStart));
}

TEST(Anonymiser, NamesTextsAndDatesAreGoneAndTheShapeStays) {
  auto anonymiser = Anonymiser::create();
  ASSERT_TRUE(anonymiser);
  Record record = full_record();
  Record again = full_record();
  anonymiser->apply(record);
  anonymiser->apply(again);
  EXPECT_EQ(record, again);
  const Record before = full_record();
  EXPECT_NE(record.application, before.application);
  EXPECT_NE(record.tenant, before.tenant);
  EXPECT_NE(record.user, before.user);
  EXPECT_NE(record.task, before.task);
  EXPECT_NE(record.model, before.model);
  EXPECT_NE(record.session, before.session);
  EXPECT_NE(record.request, before.request);
  EXPECT_NE(record.blocks, before.blocks);
  EXPECT_EQ(record.wall_nanoseconds, std::nullopt);
  EXPECT_EQ(record.prompt_text, std::nullopt);
  EXPECT_EQ(record.answer_text, std::nullopt);
  EXPECT_EQ(record.blocks.hashes.size(), before.blocks.hashes.size());
  EXPECT_EQ(record.arrival, before.arrival);
  EXPECT_EQ(record.timings, before.timings);
  EXPECT_EQ(record.service_class, before.service_class);
  EXPECT_EQ(record.outcome, before.outcome);

  auto other = Anonymiser::create();
  Record elsewhere = full_record();
  other->apply(elsewhere);
  EXPECT_NE(elsewhere.user, record.user);
}

TEST(Anonymiser, AParentIsStillItsChildsParent) {
  auto anonymiser = Anonymiser::create();
  Record parent;
  parent.request = 9;
  Record child;
  child.request = 10;
  child.parent = 9;
  anonymiser->apply(parent);
  anonymiser->apply(child);
  EXPECT_EQ(child.parent, parent.request);
}

TEST(CountedNumbers, PercentilesAreLinearAndExactForLengthsOfEveryDay) {
  CountedNumbers numbers;
  for (const std::uint32_t number : {10u, 20u, 30u, 40u}) numbers.add(number);
  EXPECT_DOUBLE_EQ(numbers.percentile(0.5), 25.0);
  EXPECT_DOUBLE_EQ(numbers.percentile(0.0), 10.0);
  EXPECT_DOUBLE_EQ(numbers.percentile(1.0), 40.0);
  EXPECT_DOUBLE_EQ(numbers.mean(), 25.0);
  CountedNumbers large;
  large.add(3'000'000'001);
  EXPECT_NEAR(large.percentile(0.5), 3'000'000'001.0, 3'000'000'001.0 / 2000);
}

TEST(Summary, TellsReuseAsAnUnlimitedCacheWouldSeeIt) {
  Summary summary;
  const auto add = [&](std::vector<std::uint64_t> hashes, std::uint32_t tokens) {
    Record record;
    record.prompt_tokens = tokens;
    record.blocks = {16, std::move(hashes)};
    summary.add(record);
  };
  add({1, 2}, 40);
  add({1, 2, 3}, 50);  // 32 of 50
  add({9, 2}, 40);     // behind a block that is new nothing is found
  add({1}, 10);        // a block cut by the prompt's end
  EXPECT_NEAR(*summary.reusable_share(), (32.0 + 10.0) / 140.0, 1e-9);
  EXPECT_EQ(Summary().reusable_share(), std::nullopt);
}

TEST(Summary, TellsRateAndBurstiness) {
  Summary summary;
  for (int i = 0; i < 100; ++i) {
    Record record;
    record.arrival = seconds(i / 10 * 10);  // ten at once, every ten seconds
    record.prompt_tokens = 1;
    summary.add(record);
  }
  EXPECT_EQ(summary.span(), seconds(90));
  EXPECT_NEAR(summary.requests_per_second(), 100.0 / 90.0, 1e-9);
  EXPECT_NEAR(*summary.gap_variation(), std::sqrt(99.0 / 9.0 - 1.0), 1e-6);
  EXPECT_GT(*summary.dispersion(), 8.0);
}

TEST(ColumnTable, ATableThatIsNoTraceShowsItsColumns) {
  const TemporaryFolder folder;
  const auto table = read_columns(folder.write("t", "layer,tokens,time_us\nact_fn,1,2.5\nact_fn,3,3.5\n"));
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->rows, 2);
  EXPECT_EQ(table->columns[0].numbers, 0);
  EXPECT_EQ(table->columns[2].mean, 3.0);
  EXPECT_EQ(table->columns[1].most, 3.0);
  EXPECT_NE(read_columns(folder.write("t", "a,b\n1\n")).error().message.find(":2: "), std::string::npos);
  EXPECT_FALSE(read_columns(folder.write("t", "a,b\n")));
  EXPECT_FALSE(read_columns(folder.write("t", "plain words\n")));
}

}  // namespace
}  // namespace takt::trace
