#include "trace/reader.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "unit/trace/read_all.h"
#include "unit/trace/temporary_folder.h"

namespace takt::trace {
namespace {

using std::chrono::milliseconds;

TEST(TraceReader, AFileIsKnownByItsContentAndNotByItsName) {
  const TemporaryFolder folder;
  const auto format_of = [&](std::string_view content) {
    const WholeTrace trace = read_all(folder.write("trace.txt", content));
    EXPECT_EQ(trace.error, "");
    return trace.origin.format;
  };
  EXPECT_EQ(format_of("{\"timestamp\": 0, \"input_length\": 7, \"output_length\": 5, \"hash_ids\": [0]}\n"),
            Format::kMooncake);
  EXPECT_EQ(format_of("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,4808,10"), Format::kAzure);
  EXPECT_EQ(format_of("Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,GPT-4,1,2,3,API log\n"),
            Format::kBurstGpt);
  EXPECT_EQ(format_of("\xEF\xBB\xBFinput_tokens,output_tokens\r\n3772,54\r\n"), Format::kTable);
  EXPECT_NE(read_all(folder.write("trace.csv", "a,b\n1,2\n")).error.find("trace.csv:1: "), std::string::npos);
  EXPECT_NE(read_all(folder.write("trace.csv", "")).error.find("is empty"), std::string::npos);
  EXPECT_NE(read_all(folder.file("absent")).error.find("No such file"), std::string::npos);
}

TEST(TraceReader, MooncakeSharesPrefixesByItsIds) {
  const TemporaryFolder folder;
  const WholeTrace trace = read_all(
      folder.write("m",
                   "{\"timestamp\": 3000, \"input_length\": 513, \"output_length\": 500, \"hash_ids\": [0, 9]}\n"
                   "{\"timestamp\": 3000.5, \"input_length\": 512, \"output_length\": 0, \"hash_ids\": [0]}"));
  ASSERT_EQ(trace.records.size(), 2);
  EXPECT_EQ(trace.records[0].arrival, milliseconds(3000));
  EXPECT_EQ(trace.records[1].arrival, std::chrono::microseconds(3'000'500));
  EXPECT_EQ(trace.records[0].blocks, (PromptBlocks{512, {0, 9}}));
  EXPECT_EQ(trace.records[1].blocks.hashes.front(), trace.records[0].blocks.hashes.front());
}

TEST(TraceReader, SourcesWithoutHashesShareNothing) {
  const TemporaryFolder folder;
  const WholeTrace trace = read_all(folder.write("t", "arrival_s,client,input_tokens,output_tokens\n0,13,13,199\n"));
  ASSERT_EQ(trace.records.size(), 1);
  EXPECT_EQ(trace.records[0].blocks, PromptBlocks{});
  EXPECT_EQ(trace.records[0].tenant, "13");
}

TEST(TraceReader, ATableOfLengthsHasNoInstants) {
  const TemporaryFolder folder;
  EXPECT_FALSE(read_all(folder.write("t", "input_tokens,output_tokens\n1,2\n")).origin.has_arrivals);
  EXPECT_TRUE(read_all(folder.write("t", "arrival_s,input_tokens,output_tokens\n0,1,2\n")).origin.has_arrivals);
}

TEST(TraceReader, AzureCountsFromItsFirstRowAndKeepsTheWallClock) {
  const TemporaryFolder folder;
  const WholeTrace trace = read_all(folder.write("a",
                                                 "TIMESTAMP,ContextTokens,GeneratedTokens\n"
                                                 "2024-05-10 00:00:00.009930+00:00,2162,5\n"
                                                 "2024-05-10 00:00:01.009930+00:00,2399,6"));
  ASSERT_EQ(trace.records.size(), 2);
  EXPECT_EQ(trace.records[0].arrival, Duration(0));
  EXPECT_EQ(trace.records[1].arrival, std::chrono::seconds(1));
  EXPECT_EQ(trace.origin.wall_nanoseconds, trace.records[0].wall_nanoseconds);
}

// Version 3 has put its new columns second and third.
TEST(TraceReader, BurstGptIsReadByTheNamesOfItsColumns) {
  const TemporaryFolder folder;
  const WholeTrace trace = read_all(
      folder.write("b",
                   "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
                   "45,s9,3.25,ChatGPT,1087,230,1317,Conversation log\n"));
  ASSERT_EQ(trace.error, "");
  ASSERT_EQ(trace.records.size(), 1);
  EXPECT_EQ(trace.records[0].session, "s9");
  EXPECT_EQ(trace.records[0].timings.ended, milliseconds(3250));
  EXPECT_EQ(trace.records[0].prompt_tokens, 1087);
  EXPECT_EQ(trace.records[0].model, "ChatGPT");
}

TEST(TraceReader, RowsWithoutTokensAreLeftOutWithACountedReason) {
  const TemporaryFolder folder;
  const WholeTrace trace =
      read_all(folder.write("b",
                            "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
                            "5,GPT-4,0,0,0,API log\n6,GPT-4,9,0,9,API log\n7,GPT-4,9,1,10,API log\n"));
  ASSERT_EQ(trace.records.size(), 2);
  EXPECT_EQ(trace.records[0].outcome, Outcome::kFailed);
  EXPECT_EQ(trace.records[1].outcome, Outcome::kFinished);
  EXPECT_EQ(trace.counts.dropped.at("no tokens (a failed request)"), 1);
  EXPECT_EQ(trace.counts.rows, 3);
  expect_counts_reconcile(trace.counts);
}

// G5: a renamed field is an error, never a length of 0.
TEST(TraceReader, UnknownAndMissingFieldsAreErrorsThatNameThem) {
  const TemporaryFolder folder;
  const auto error_of = [&](std::string_view content) { return read_all(folder.write("t.csv", content)).error; };
  EXPECT_NE(error_of("arrival_s,input_tokens\n1,2\n").find("column \"output_tokens\" is missing"), std::string::npos);
  EXPECT_NE(error_of("input_tokens,output_tokens,colour\n1,2,3\n").find("unknown column \"colour\""),
            std::string::npos);
  EXPECT_NE(error_of("input_tokens,output_tokens,output_tokens\n1,2,3\n").find("is there twice"), std::string::npos);
  EXPECT_NE(error_of("{\"timestamp\": 0, \"input_length\": 7, \"hash_ids\": [0]}\n").find("output_length is missing"),
            std::string::npos);
  EXPECT_NE(
      error_of("{\"timestamp\":0,\"input_length\":7,\"output_length\":1,\"extra\":1}\n").find("unknown field extra"),
      std::string::npos);
}

TEST(TraceReader, AMalformedLineIsNamedWithItsFileAndLine) {
  const TemporaryFolder folder;
  const std::string path = folder.write("t.csv", "arrival_s,input_tokens,output_tokens\n1,2,3\n1,-2,3\n2,2,3\n");
  const WholeTrace trace = read_all(path);
  EXPECT_EQ(trace.records.size(), 1);
  EXPECT_EQ(trace.error, path + ":3: input_tokens is \"-2\" and must be a whole number from 0 to 4294967295");
}

TEST(TraceReader, MalformedLinesAreSkippedAndCountedWhereThatIsAskedFor) {
  const TemporaryFolder folder;
  const std::string path =
      folder.write("t.csv", "arrival_s,input_tokens,output_tokens\nx,1,1\n1,2,3\n1,2\n\n1,2,3,4\n2,2,3");
  const WholeTrace trace = read_all(path, OnMalformed::kSkip);
  EXPECT_EQ(trace.error, "");
  EXPECT_EQ(trace.records.size(), 2);
  EXPECT_EQ(trace.counts.malformed, 3);
  EXPECT_EQ(trace.counts.rows, 5);
  EXPECT_EQ(trace.counts.first_malformed, path + ":2: arrival_s is \"x\" and must be a number of seconds from 0");
  expect_counts_reconcile(trace.counts);
}

TEST(TraceReader, HostileLinesAreErrorsAndNeverMore) {
  const TemporaryFolder folder;
  const std::string head = "{\"timestamp\": 0, \"input_length\": 7, \"output_length\": 1, \"hash_ids\": [0]}\n";
  for (const std::string& line :
       {std::string("{"), std::string("[1]"), std::string("null"), std::string(5000, '['), std::string(1, '\0'),
        std::string("{\"timestamp\":1e300,\"input_length\":7,\"output_length\":1}"),
        std::string("{\"timestamp\":0,\"input_length\":-7,\"output_length\":1}"),
        std::string("{\"timestamp\":0,\"input_length\":4294967296,\"output_length\":1}"),
        std::string("{\"timestamp\":0,\"input_length\":7,\"output_length\":1,\"hash_ids\":[0,1]}"),
        std::string("{\"timestamp\":0,\"input_length\":7,\"output_length\":1,\"hash_ids\":[\"a\"]}")}) {
    const WholeTrace trace = read_all(folder.write("m", head + line + "\n"), OnMalformed::kSkip);
    EXPECT_EQ(trace.error, "");
    EXPECT_EQ(trace.counts.malformed, 1) << line.substr(0, 80);
    expect_counts_reconcile(trace.counts);
  }
}

TEST(TraceReader, ALineAboveTheLimitIsPassedOverInBoundedMemory) {
  const TemporaryFolder folder;
  const std::string path =
      folder.write("t.csv", "input_tokens,output_tokens\n1,1\n" + std::string(2'000'000, '7') + ",1\n2,2\n");
  ReadOptions options;
  options.on_malformed = OnMalformed::kSkip;
  options.max_line_bytes = 1000;
  auto reader = open_trace(path, options);
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ((*reader)->next()->value().prompt_tokens, 1);
  EXPECT_EQ((*reader)->next()->value().prompt_tokens, 2);
  EXPECT_FALSE((*reader)->next()->has_value());
  EXPECT_EQ((*reader)->counts().malformed, 1);
  EXPECT_EQ((*reader)->counts().first_malformed, path + ":3: has more than 1000 bytes");
}

// What has no end is told by its first line, wherever that line stands.
TEST(TraceReader, ALineThatIsTooLongIsRefusedBeforeItsEndIsSeen) {
  const TemporaryFolder folder;
  const std::string pipe = folder.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const auto& [head, line] : {std::pair<std::string, std::string>{"", ":1: "},
                                   {"input_tokens,output_tokens\n1,1\n", ":3: "},
                                   {"{\"timestamp\": 0, \"input_length\": 7, \"output_length\": 1}\n", ":2: "}}) {
    // Holds the pipe open: a reader that waited for the line's end would wait for ever.
    const int writer = ::open(pipe.c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_GE(writer, 0);
    const std::string bytes = head + std::string(5000, '7');
    ASSERT_EQ(::write(writer, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    ReadOptions options;
    options.max_line_bytes = 1000;
    auto reader = open_trace(pipe, options);
    std::string error = reader ? "" : reader.error().message;
    while (error.empty()) {
      const auto record = (*reader)->next();
      if (!record) error = record.error().message;
      ASSERT_TRUE(!record || record->has_value());
    }
    EXPECT_EQ(error, pipe + line + "has more than 1000 bytes");
    ::close(writer);
  }
}

TEST(TraceReader, ADeviceIsNoTrace) {
  for (const char* device : {"/dev/zero", "/dev/null"}) {
    const auto reader = open_trace(device);
    ASSERT_FALSE(reader);
    EXPECT_EQ(reader.error().code, ErrorCode::kIo);
    EXPECT_EQ(reader.error().message, std::string(device) + " is a device, and neither a file nor a pipe");
  }
}

// Homes have tiers where Takt has classes; a column for the class says it better, also when it says nothing.
TEST(TraceReader, ATiersWordIsTheClassOnlyWhereThereIsNoColumnForIt) {
  const TemporaryFolder folder;
  const auto only = read_all(folder.write("t", "tier,input_tokens,output_tokens\nstandard,1,1\n,1,1\n"));
  ASSERT_EQ(only.records.size(), 2) << only.error;
  EXPECT_EQ(only.records[0].service_class, "standard");
  EXPECT_EQ(only.records[0].tier, Tier::kRealtime);
  EXPECT_EQ(only.records[1].service_class, "");
  EXPECT_EQ(only.records[1].tier, std::nullopt);
  for (const char* head : {"tier,class", "class,tier"}) {
    const bool tier_first = head[0] == 't';
    const auto both = read_all(
        folder.write("t", std::string(head) + ",input_tokens,output_tokens\n" +
                              (tier_first ? "batch,night,1,1\nbatch,,1,1\n" : "night,batch,1,1\n,batch,1,1\n")));
    ASSERT_EQ(both.records.size(), 2) << both.error;
    EXPECT_EQ(both.records[0].service_class, "night");
    EXPECT_EQ(both.records[1].service_class, "");
    EXPECT_EQ(both.records[1].tier, Tier::kBatch);
  }
}

TEST(TraceReader, NegativeGapsAreGivenAsTheyAreAndCounted) {
  const TemporaryFolder folder;
  const WholeTrace trace =
      read_all(folder.write("t", "arrival_s,input_tokens,output_tokens\n5,1,1\n3,1,1\n4,1,1\n4,1,1\n"));
  ASSERT_EQ(trace.records.size(), 4);
  EXPECT_EQ(trace.records[1].arrival, std::chrono::seconds(3));
  EXPECT_EQ(trace.counts.out_of_order, 1);
}

// Nobody arrives before a trace begins, whatever its format.
TEST(TraceReader, AnInstantBelowZeroMakesItsLineMalformed) {
  const TemporaryFolder folder;
  for (const std::string& content :
       {std::string("arrival_s,input_tokens,output_tokens\n5,1,1\n-3,1,1\n4,1,1\n"),
        std::string("Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,GPT-4,1,2,3,API log\n"
                    "-0.5,GPT-4,1,2,3,API log\n6,GPT-4,1,2,3,API log\n"),
        std::string("{\"timestamp\":5,\"input_length\":7,\"output_length\":1}\n"
                    "{\"timestamp\":-1,\"input_length\":7,\"output_length\":1}\n"
                    "{\"timestamp\":6,\"input_length\":7,\"output_length\":1}\n")}) {
    const std::string path = folder.write("t", content);
    const WholeTrace refused = read_all(path);
    const std::string line = content.front() == '{' ? ":2: " : ":3: ";
    EXPECT_NE(refused.error.find(path + line), std::string::npos) << refused.error;
    EXPECT_NE(refused.error.find("from 0"), std::string::npos) << refused.error;
    const WholeTrace skipped = read_all(path, OnMalformed::kSkip);
    EXPECT_EQ(skipped.records.size(), 2);
    EXPECT_EQ(skipped.counts.malformed, 1);
    expect_counts_reconcile(skipped.counts);
  }
}

TEST(TraceReader, APrefixIsSharedAsFarAsBothHaveIt) {
  const TemporaryFolder folder;
  const WholeTrace trace = read_all(folder.write("t",
                                                 "arrival_s,prefix_id,prefix_tokens,input_tokens,output_tokens\n"
                                                 "1,a,40,100,1\n2,a,64,100,1\n3,b,64,100,1\n4,a,64,20,1\n5,,0,20,1\n"));
  ASSERT_EQ(trace.records.size(), 5);
  const auto& hashes = [&](std::size_t i) -> const std::vector<std::uint64_t>& {
    return trace.records[i].blocks.hashes;
  };
  ASSERT_EQ(hashes(0).size(), 2);  // whole blocks of 16
  ASSERT_EQ(hashes(1).size(), 4);
  EXPECT_EQ(hashes(0)[1], hashes(1)[1]);
  EXPECT_NE(hashes(1)[0], hashes(2)[0]);
  EXPECT_EQ(hashes(3).size(), 1);
  EXPECT_EQ(trace.records[4].blocks, PromptBlocks{});
}

TEST(TraceReader, ReadsQuotedValues) {
  const TemporaryFolder folder;
  const WholeTrace trace =
      read_all(folder.write("t", "client,input_tokens,output_tokens\n\"a,\"\"b\"\"\",1,2\n\"\",1,2\nplain,1,2\n"));
  ASSERT_EQ(trace.error, "");
  EXPECT_EQ(trace.records[0].tenant, "a,\"b\"");
  EXPECT_EQ(trace.records[1].tenant, "");
  for (const char* wrong : {"\"a,1,2", "a\"b,1,2", "\"a\"b,1,2"}) {
    EXPECT_NE(read_all(folder.write("t", std::string("client,input_tokens,output_tokens\n") + wrong + "\n")).error, "");
  }
}

}  // namespace
}  // namespace takt::trace
