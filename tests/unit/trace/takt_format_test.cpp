#include "trace/takt_format.h"

#include <gtest/gtest.h>

#include "unit/trace/full_record.h"
#include "unit/trace/read_all.h"
#include "unit/trace/temporary_folder.h"

namespace takt::trace {
namespace {

std::string trace_text(const std::vector<Record>& records, const TaktTraceHead& head = {}) {
  std::string text = head_line(head);
  for (const Record& record : records) append_record_line(text, record);
  return text;
}

Record small_record(std::int64_t arrival_seconds) {
  Record record;
  record.arrival = std::chrono::seconds(arrival_seconds);
  record.prompt_tokens = 1;
  return record;
}

// G5: what is captured is what is replayed.
TEST(TaktTrace, EveryFieldComesBackAsItWas) {
  const TemporaryFolder folder;
  TaktTraceHead head;
  head.wall_nanoseconds = 1'800'000'000'000'000'000;
  head.server = "takt 1";
  head.configuration = R"({"a":1})";
  const WholeTrace trace = read_all(folder.write("t", trace_text({full_record(), small_record(1)}, head)));
  EXPECT_EQ(trace.error, "");
  ASSERT_EQ(trace.records.size(), 2);
  EXPECT_EQ(trace.records[0], full_record());
  EXPECT_EQ(trace.records[1], small_record(1));
  EXPECT_EQ(trace.origin.wall_nanoseconds, head.wall_nanoseconds);
  EXPECT_EQ(trace.origin.server, "takt 1");
  EXPECT_EQ(trace.origin.configuration, R"({"a":1})");
}

// A header's value or another's file may hold any bytes: they cost a name and never the line.
TEST(TaktTrace, ANameThatIsNoUtf8IsWrittenSoThatTheLineCanBeRead) {
  const TemporaryFolder folder;
  Record record = small_record(1);
  record.application = "caf\xE9 \xC3\xA9";
  record.task = "r\xC3\xA9sum\xC3\xA9";
  const WholeTrace trace = read_all(folder.write("t", trace_text({record, small_record(2)})));
  EXPECT_EQ(trace.error, "");
  ASSERT_EQ(trace.records.size(), 2);
  EXPECT_EQ(trace.records[0].application, "caf? ??");
  EXPECT_EQ(trace.records[0].task, record.task);
}

// A think time of nothing is no think time that was not recorded.
TEST(TaktTrace, NullIsNotZero) {
  const TemporaryFolder folder;
  Record record = small_record(1);
  record.think_time = Duration(0);
  const WholeTrace trace = read_all(folder.write("t", trace_text({record, small_record(2)})));
  ASSERT_EQ(trace.records.size(), 2);
  EXPECT_EQ(trace.records[0].think_time, Duration(0));
  EXPECT_EQ(trace.records[1].think_time, std::nullopt);
}

// Any flipped byte of a file is found, and costs its line alone.
TEST(TaktTrace, AChangedByteIsFoundByTheLinesChecksum) {
  const TemporaryFolder folder;
  const std::string sound = trace_text({small_record(1), full_record(), small_record(3)});
  const std::size_t second = sound.find('\n', sound.find('\n') + 1) + 1;
  const std::size_t third = sound.find('\n', second) + 1;
  for (std::size_t at = second; at + 1 < third; at += 13) {
    std::string damaged = sound;
    damaged[at] ^= 4;
    if (damaged[at] == '\n') continue;
    const std::string path = folder.write("t", damaged);
    const WholeTrace trace = read_all(path, OnMalformed::kSkip);
    EXPECT_EQ(trace.records.size(), 2) << at;
    EXPECT_EQ(trace.counts.malformed, 1) << at;
    EXPECT_EQ(trace.counts.first_malformed, path + ":3: its checksum does not hold");
    expect_counts_reconcile(trace.counts);
  }
}

// A crash may cut the file anywhere: what was whole before it is there.
TEST(TaktTrace, AFileThatIsCutAnywhereGivesAllOfItsWholeLines) {
  const TemporaryFolder folder;
  const std::string whole = trace_text({small_record(1), full_record(), small_record(3)});
  const std::size_t head = whole.find('\n') + 1;
  for (std::size_t size = head; size < whole.size(); size += 7) {
    const std::string cut = whole.substr(0, size);
    const WholeTrace trace = read_all(folder.write("t", cut));
    EXPECT_EQ(trace.error, "");
    const auto lines = static_cast<std::size_t>(std::count(cut.begin(), cut.end(), '\n')) - 1;
    EXPECT_GE(trace.records.size(), lines);
    EXPECT_LE(trace.records.size(), lines + 1);  // all of a line but its line break
    expect_counts_reconcile(trace.counts);
  }
  // As when the system had made room and not yet written.
  const WholeTrace trace = read_all(folder.write("t", whole + std::string(4096, '\0')));
  EXPECT_EQ(trace.records.size(), 3);
  EXPECT_EQ(trace.counts.dropped.at("cut off by a crash"), 1);
}

// G5: versioned and strict.
TEST(TaktTrace, OtherVersionsUnknownAndMissingFieldsAreErrors) {
  const TemporaryFolder folder;
  TaktTraceHead head;
  head.checked = false;
  const std::string beginning = head_line(head);
  std::string line;
  append_record_line(line, small_record(1));
  const auto error_of = [&](const std::string& content) { return read_all(folder.write("t", content)).error; };
  line = line.substr(0, line.find(",\"check\"")) + "}\n";
  EXPECT_EQ(error_of(beginning + line), "");

  std::string missing = line;
  missing.erase(missing.find("\"chunks\":null,"), 14);
  EXPECT_NE(error_of(beginning + missing).find(":2: chunks is missing"), std::string::npos);
  std::string unknown = line;
  unknown.insert(1, "\"colour\":1,");
  EXPECT_NE(error_of(beginning + unknown).find("unknown field colour"), std::string::npos);
  std::string negative = line;
  negative.replace(negative.find("\"prompt_tokens\":1"), 17, "\"prompt_tokens\":-1");
  EXPECT_NE(error_of(beginning + negative).find("prompt_tokens has a value of the wrong kind"), std::string::npos);

  std::string newer = beginning;
  newer.replace(newer.find("\"version\":1"), 11, "\"version\":2");
  EXPECT_NE(error_of(newer + line).find("is of version 2; this program reads version 1"), std::string::npos);
  std::string short_head = beginning;
  short_head.erase(short_head.find("\"part\":0,"), 9);
  EXPECT_NE(error_of(short_head + line).find("the head of the trace lacks a field"), std::string::npos);
}

TEST(TaktTrace, BlocksThatAPromptCannotHaveAreRefused) {
  const TemporaryFolder folder;
  Record record = small_record(1);
  record.prompt_tokens = 16;
  record.blocks = {16, {1, 2}};
  EXPECT_NE(read_all(folder.write("t", trace_text({record}))).error.find("more blocks than the prompt"),
            std::string::npos);
  record.blocks = {0, {1}};
  EXPECT_NE(read_all(folder.write("t", trace_text({record}))).error.find("block_tokens must be above 0"),
            std::string::npos);
}

TEST(TaktTrace, SegmentsOfAFolderAreOneTraceOnOneTimeLine) {
  const TemporaryFolder folder;
  TaktTraceHead head;
  head.wall_nanoseconds = 1'000'000'000'000;
  head.run = 5;
  folder.write("b.jsonl", trace_text({small_record(1)}, head));
  head.part = 1;
  folder.write("a.jsonl", trace_text({small_record(2), small_record(3)}, head));
  head.run = 9;  // the server started again ten seconds later
  head.part = 0;
  *head.wall_nanoseconds += 10'000'000'000;
  folder.write("c.jsonl", trace_text({small_record(1)}, head));
  folder.write("notes.txt", "not a segment");
  folder.write("d.jsonl", "{\"format\":\"takt-tr");  // cut off in its first line
  const WholeTrace trace = read_all(folder.path().string());
  EXPECT_EQ(trace.error, "");
  std::vector<std::int64_t> arrivals;
  for (const Record& record : trace.records) arrivals.push_back(record.arrival.count() / 1'000'000'000);
  EXPECT_EQ(arrivals, (std::vector<std::int64_t>{1, 2, 3, 11}));
  EXPECT_EQ(trace.counts.records, 4);
  EXPECT_EQ(trace.counts.out_of_order, 0);
  expect_counts_reconcile(trace.counts);
}

TEST(TaktTrace, AFolderWithoutSegmentsIsAnError) {
  const TemporaryFolder folder;
  EXPECT_NE(read_all(folder.path().string()).error.find("holds no segment of a capture"), std::string::npos);
}

}  // namespace
}  // namespace takt::trace
