// The public traces, whole: rows and sums as their origins state them.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "golden/golden_data.h"
#include "trace/rates.h"
#include "trace/reader.h"
#include "unit/trace/read_all.h"

namespace takt::trace {
namespace {

// Beside the other reference data.
std::filesystem::path trace_path(const char* file) {
  return golden::directory().parent_path() / "traces" / file;
}

struct PublicTrace {
  const char* file;
  Format format;
  std::uint64_t rows;
  bool has_arrivals;
  double mean_input;  // workloads.md, section 1.2; 0: not stated
  double mean_output;
  bool shares_prefixes;
};

class PublicTraces : public testing::TestWithParam<PublicTrace> {};

TEST_P(PublicTraces, LoadsWholeWithItsStatedRowsAndMeanLengths) {
  const PublicTrace& stated = GetParam();
  const auto path = trace_path(stated.file);
  TAKT_REQUIRE_GOLDEN(path);
  const WholeTrace trace = read_all(path.string());
  ASSERT_EQ(trace.error, "");
  EXPECT_EQ(trace.origin.format, stated.format);
  EXPECT_EQ(trace.origin.has_arrivals, stated.has_arrivals);
  EXPECT_EQ(trace.counts.rows, stated.rows);
  EXPECT_EQ(trace.counts.records, stated.rows);
  EXPECT_EQ(trace.counts.out_of_order, 0);
  expect_counts_reconcile(trace.counts);
  double input = 0;
  double output = 0;
  std::uint64_t with_hashes = 0;
  for (const Record& record : trace.records) {
    input += record.prompt_tokens;
    output += record.output_tokens;
    with_hashes += record.blocks.hashes.empty() ? 0 : 1;
  }
  const auto count = static_cast<double>(trace.records.size());
  if (stated.mean_input > 0) {
    EXPECT_NEAR(input / count, stated.mean_input, 0.6);
    EXPECT_NEAR(output / count, stated.mean_output, 0.6);
  }
  EXPECT_EQ(with_hashes > 0, stated.shares_prefixes);
}

INSTANTIATE_TEST_SUITE_P(
    All, PublicTraces,
    testing::Values(PublicTrace{"azure2023_code.csv", Format::kAzure, 8819, true, 2048, 28, false},
                    PublicTrace{"azure2023_conv.csv", Format::kAzure, 19366, true, 1155, 211, false},
                    PublicTrace{"mooncake_conversation.jsonl", Format::kMooncake, 12031, true, 12035, 343, true},
                    PublicTrace{"mooncake_synthetic.jsonl", Format::kMooncake, 3993, true, 15326, 149, true},
                    PublicTrace{"sharegpt8k_lengths.csv", Format::kTable, 30731, false, 2340, 439, false},
                    PublicTrace{"arxiv_summ4k_lengths.csv", Format::kTable, 28257, false, 2588, 291, false},
                    PublicTrace{"vtc_arena_27clients.csv", Format::kTable, 1500, true, 136, 256, false},
                    PublicTrace{"servegen_mlarge_sample_1h.csv", Format::kTable, 14388, true, 969, 145, false},
                    PublicTrace{"home_mix_synthetic_24h.csv", Format::kTable, 2755, true, 0, 0, true},
                    PublicTrace{"llmservingsim_rtx4090_llama31_8b/vllm_measured_300.csv", Format::kTable, 300, true, 0,
                                0, false}),
    [](const testing::TestParamInfo<PublicTrace>& parameter) {
      std::string name = std::filesystem::path(parameter.param.file).stem().string();
      for (char& c : name) {
        if (c == '.') c = '_';
      }
      return name;
    });

TEST(RateTraces, ServeGensWindowsAreReadWithTheTwelveBusiestClients) {
  const auto path = trace_path("servegen_mlarge_rates_14d.csv");
  TAKT_REQUIRE_GOLDEN(path);
  const auto table = read_rates(path.string());
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->total_rps.size(), 2016);  // of ten minutes: 14 days
  EXPECT_EQ(table->window, std::chrono::minutes(10));
  EXPECT_EQ(table->clients.size(), 12);
  EXPECT_EQ(table->clients.front().name, "c61");
}

// Every block of every row of both Mooncake files is there: ceil(input / 512) ids.
TEST(MooncakeTraces, EveryPromptIsCoveredByItsBlocks) {
  for (const char* file : {"mooncake_conversation.jsonl", "mooncake_synthetic.jsonl"}) {
    const auto path = trace_path(file);
    TAKT_REQUIRE_GOLDEN(path);
    for (const Record& record : read_all(path.string()).records)
      ASSERT_EQ(record.blocks.hashes.size(), (record.prompt_tokens + 511) / 512);
  }
}

TEST(MeasuredTrace, HasTheTimesOfARealRun) {
  const auto path = trace_path("llmservingsim_rtx4090_llama31_8b/vllm_measured_300.csv");
  TAKT_REQUIRE_GOLDEN(path);
  for (const Record& record : read_all(path.string()).records) {
    ASSERT_TRUE(record.timings.first_token && record.timings.last_token && record.timings.scheduled);
    EXPECT_LE(*record.timings.scheduled, *record.timings.first_token);
    EXPECT_LE(*record.timings.first_token, *record.timings.last_token);
  }
}

}  // namespace
}  // namespace takt::trace
