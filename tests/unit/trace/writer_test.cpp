#include "trace/writer.h"

#include <gtest/gtest.h>

#include "trace/takt_format.h"
#include "unit/trace/full_record.h"
#include "unit/trace/read_all.h"
#include "unit/trace/temporary_folder.h"

namespace takt::trace {
namespace {

using std::chrono::milliseconds;

std::vector<Record> sample() {
  std::vector<Record> records;
  for (std::uint32_t i = 0; i < 4; ++i) {
    Record record;
    record.arrival = milliseconds(1500) * i;
    record.prompt_tokens = 1000 + i;
    record.output_tokens = 7 * (i + 1);
    record.model = "m,1";
    record.task = "rag";
    record.session = "s";
    record.timings.ended = milliseconds(2500);
    records.push_back(record);
  }
  return records;
}

WholeTrace written_and_read(const std::vector<Record>& records, OutputFormat format, const Origin& origin = {}) {
  const TemporaryFolder folder;
  auto writer = create_trace(folder.file("out"), format, origin);
  EXPECT_TRUE(writer) << writer.error().message;
  for (const Record& record : records) EXPECT_TRUE((*writer)->write(record));
  EXPECT_TRUE((*writer)->finish());
  WholeTrace trace = read_all(folder.file("out"));
  EXPECT_EQ(trace.error, "");
  EXPECT_FALSE(std::filesystem::exists(folder.file("out.partial")));
  return trace;
}

TEST(TraceWriter, TheOwnFormatKeepsEverything) {
  Origin origin;
  origin.wall_nanoseconds = 5;
  origin.server = "s";
  origin.configuration = "{}";
  const WholeTrace trace = written_and_read({full_record()}, OutputFormat::kTakt, origin);
  ASSERT_EQ(trace.records.size(), 1);
  EXPECT_EQ(trace.records[0], full_record());
  EXPECT_EQ(trace.origin.wall_nanoseconds, 5);
  EXPECT_EQ(trace.origin.configuration, "{}");
}

// G5: the same counts, instants and lengths in every format that has them.
TEST(TraceWriter, CountsInstantsAndLengthsComeBackFromEveryFormat) {
  Origin origin;
  origin.wall_nanoseconds = 1'800'000'000'000'000'000;
  for (const OutputFormat format : {OutputFormat::kTakt, OutputFormat::kMooncake, OutputFormat::kAzure,
                                    OutputFormat::kBurstGpt, OutputFormat::kTable, OutputFormat::kLengths}) {
    const WholeTrace trace = written_and_read(sample(), format, origin);
    ASSERT_EQ(trace.records.size(), 4) << to_string(format);
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(trace.records[i].prompt_tokens, sample()[i].prompt_tokens) << to_string(format);
      EXPECT_EQ(trace.records[i].output_tokens, sample()[i].output_tokens) << to_string(format);
      if (format != OutputFormat::kLengths) {
        EXPECT_EQ(trace.records[i].arrival, sample()[i].arrival) << to_string(format);
      }
    }
    EXPECT_EQ(trace.origin.has_arrivals, format != OutputFormat::kLengths);
  }
}

TEST(TraceWriter, BurstGptAndTablesKeepWhoAndWhatFor) {
  for (const OutputFormat format : {OutputFormat::kBurstGpt, OutputFormat::kTable}) {
    const WholeTrace trace = written_and_read(sample(), format);
    ASSERT_EQ(trace.records.size(), 4);
    EXPECT_EQ(trace.records[0].model, "m,1");
    EXPECT_EQ(trace.records[0].task, "rag");
    EXPECT_EQ(trace.records[0].session, "s");
  }
  EXPECT_EQ(written_and_read(sample(), OutputFormat::kBurstGpt).records[0].timings.ended, milliseconds(2500));
}

// A record without a fact is without it in every format that has a place for the fact.
TEST(TraceWriter, WhatWasNotKnownIsNotKnownAfterwards) {
  for (const OutputFormat format : {OutputFormat::kTakt, OutputFormat::kMooncake, OutputFormat::kBurstGpt,
                                    OutputFormat::kTable, OutputFormat::kLengths}) {
    Record bare;
    bare.prompt_tokens = 9;
    bare.output_tokens = 3;
    const WholeTrace trace = written_and_read({bare}, format);
    ASSERT_EQ(trace.records.size(), 1) << to_string(format);
    Record read = trace.records[0];
    EXPECT_EQ(trace.origin.wall_nanoseconds, std::nullopt) << to_string(format);
    // A row of BurstGPT's with an answer is of a request that had one; Mooncake's ids say that nothing is shared.
    if (format == OutputFormat::kBurstGpt) read.outcome = Outcome::kUnknown;
    if (format == OutputFormat::kMooncake) read.blocks = {};
    EXPECT_EQ(read, bare) << to_string(format);
  }
}

TEST(TraceWriter, MooncakesOwnIdsStayWhatTheyWere) {
  Record record;
  record.prompt_tokens = 1100;
  record.blocks = {512, {0, 17, 99}};
  const WholeTrace trace = written_and_read({record}, OutputFormat::kMooncake);
  EXPECT_EQ(trace.records.at(0).blocks, record.blocks);
}

// Sharing is never made up: less is shared than there was, where blocks of another size do not say enough.
TEST(TraceWriter, SmallBlocksBecomeLargeOnesThatAreEqualOnlyWhereAllOfThemAre) {
  Record one;
  one.prompt_tokens = 1100;
  one.blocks.block_tokens = 16;
  for (std::uint64_t i = 0; i < 1100 / 16; ++i) one.blocks.hashes.push_back(0xF000000000000000 + i);
  Record other = one;
  other.blocks.hashes[40] = 5;  // in the second block of 512, and chained: all behind it are others
  for (std::size_t i = 41; i < other.blocks.hashes.size(); ++i) other.blocks.hashes[i] += 1000;
  Record none;
  none.prompt_tokens = 1100;
  const WholeTrace trace = written_and_read({one, other, none, none, one}, OutputFormat::kMooncake);
  const auto id = [&](std::size_t record, std::size_t block) {
    return trace.records.at(record).blocks.hashes.at(block);
  };
  ASSERT_EQ(trace.records.size(), 5);
  EXPECT_EQ(id(0, 0), id(1, 0));
  EXPECT_NE(id(0, 1), id(1, 1));
  EXPECT_EQ(id(0, 1), id(4, 1));
  EXPECT_NE(id(0, 2), id(4, 2));  // no hash says what its last tokens are
  EXPECT_NE(id(2, 0), id(3, 0));
  EXPECT_NE(id(0, 0), id(0, 1));
}

TEST(TraceWriter, AFileThatIsThereIsNeverOverwritten) {
  const TemporaryFolder folder;
  folder.write("out", "precious");
  const auto writer = create_trace(folder.file("out"), OutputFormat::kTakt, {});
  ASSERT_FALSE(writer);
  EXPECT_NE(writer.error().message.find("is there already"), std::string::npos);
  EXPECT_EQ(folder.read("out"), "precious");

  auto late = create_trace(folder.file("late"), OutputFormat::kTakt, {});
  ASSERT_TRUE(late);
  EXPECT_FALSE(create_trace(folder.file("late"), OutputFormat::kTakt, {}));  // being written
  folder.write("late", "made meanwhile");
  EXPECT_FALSE((*late)->finish());
  EXPECT_EQ(folder.read("late"), "made meanwhile");
}

TEST(TraceWriter, WhatIsNotFinishedLeavesNothing) {
  const TemporaryFolder folder;
  {
    auto writer = create_trace(folder.file("out"), OutputFormat::kTakt, {});
    ASSERT_TRUE(writer);
    EXPECT_TRUE((*writer)->write(full_record()));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(TraceWriter, AFolderThatIsNotThereIsAnErrorThatNamesIt) {
  const TemporaryFolder folder;
  const auto writer = create_trace(folder.file("absent/out"), OutputFormat::kTakt, {});
  ASSERT_FALSE(writer);
  EXPECT_NE(writer.error().message.find("absent/out"), std::string::npos);
}

}  // namespace
}  // namespace takt::trace
