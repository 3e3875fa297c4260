#include "metrics/exposition.h"

#include <gtest/gtest.h>

#include "metrics/server_metrics.h"
#include "unit/metrics/event_script.h"
#include "unit/metrics/exposition_checker.h"

namespace takt::metrics {
namespace {

using std::chrono::milliseconds;

Samples samples_of(ServerMetrics& metrics, const KvBlocks& blocks = {}, const ConfigFacts& config = {}) {
  const auto text = metrics.text({&blocks, 1}, {config, {}});
  const auto samples = parse_strictly(text);
  EXPECT_TRUE(samples) << samples.error().message;
  return samples ? *samples : Samples{};
}

// F15: the text parses strictly, whatever characters a model's name has, and holds what operators ask for.
TEST(Exposition, ParsesStrictlyAndHoldsTheListOfF15) {
  ManualClock clock;
  ServerMetrics metrics({"a \"quoted\\name\"\nof two lines"}, {{"1.2.3", "1", "avx2"}}, clock);
  const auto committed = step(64, 2, milliseconds(10), milliseconds(12));
  metrics.publish({accepted(0, 1), admitted(5, 1, 8), token(10, 1), event(12, committed)});
  metrics.publish({accepted(12, 2, 40, labels("index", Tier::kBatch)), event(13, Preempted{RequestId(1), 0, 16})});
  metrics.count_refusal(labels("chat"), ErrorCode::kUnavailable);
  const SwapArena arena{4096, 1024, 700, 300, std::chrono::seconds(3), std::chrono::seconds(2), 1, 2};
  const auto samples = samples_of(metrics,
                                  {.total = 100,
                                   .owned = 10,
                                   .cached = 30,
                                   .free = 60,
                                   .swap = arena,
                                   .pinned = 7,
                                   .reserved_unused_tokens = 21,
                                   .owners = {8, 2, 5, 6, 15, 4, 60}},
                                  {.generation = 3, .last_change_applied = false, .last_change_unix = 1'700'000'000});
  EXPECT_EQ(samples.at("takt_config_generation"), 3.0);
  EXPECT_EQ(samples.at("takt_config_last_change_applied"), 0.0);
  EXPECT_EQ(samples.at("takt_config_last_change_timestamp_seconds"), 1'700'000'000.0);

  const std::string model = R"({model="a \"quoted\\name\"\nof two lines")";
  EXPECT_EQ(samples.at("takt_build_info{version=\"1.2.3\",numerics=\"1\",isa=\"avx2\"}"), 1.0);
  EXPECT_EQ(samples.at("takt_kv_blocks" + model + ",state=\"owned\"}"), 10.0);
  EXPECT_EQ(samples.at("takt_kv_blocks" + model + ",state=\"cached\"}"), 30.0);
  EXPECT_EQ(samples.at("takt_kv_blocks" + model + ",state=\"free\"}"), 60.0);
  EXPECT_EQ(samples.at("takt_kv_blocks_capacity" + model + "}"), 100.0);
  EXPECT_EQ(samples.at("takt_kv_pinned_blocks" + model + "}"), 7.0);
  EXPECT_EQ(samples.at("takt_kv_reserved_unused_tokens" + model + "}"), 21.0);
  EXPECT_EQ(samples.at("takt_kv_owner_blocks" + model + ",owner=\"running\"}"), 8.0);
  EXPECT_EQ(samples.at("takt_kv_owner_blocks" + model + ",owner=\"cache_batch\"}"), 4.0);
  EXPECT_EQ(samples.at("takt_cached_prompt_tokens_total{service_class=\"chat\",tier=\"realtime\"}"), 8.0);
  EXPECT_EQ(samples.at("takt_queue_requests{tier=\"batch\"}"), 1.0);
  EXPECT_EQ(samples.at("takt_queue_tokens{tier=\"batch\"}"), 40.0);
  EXPECT_EQ(samples.at("takt_queue_requests{tier=\"realtime\"}"), 0.0);
  EXPECT_EQ(samples.at("takt_swap_arena_bytes" + model + "}"), 4096.0);
  EXPECT_EQ(samples.at("takt_swap_used_bytes" + model + "}"), 1024.0);
  EXPECT_EQ(samples.at("takt_swap_bytes_total" + model + ",direction=\"in\"}"), 300.0);
  EXPECT_EQ(samples.at("takt_swap_seconds_total" + model + ",direction=\"out\"}"), 3.0);
  EXPECT_EQ(samples.at("takt_swap_failures_total" + model + ",direction=\"in\"}"), 2.0);
  EXPECT_EQ(samples.at("takt_preemptions_total" + model + ",kind=\"recompute\"}"), 1.0);
  EXPECT_EQ(samples.at("takt_requests_refused_total{reason=\"unavailable\"}"), 1.0);
  EXPECT_EQ(samples.at("takt_requests_cancelled_total{phase=\"queued\"}"), 0.0);
  EXPECT_EQ(samples.at("takt_steps_total" + model + ",phase=\"mixed\"}"), 1.0);
  EXPECT_EQ(samples.at("takt_step_tokens_total" + model + ",phase=\"prefill\"}"), 64.0);
}

TEST(Exposition, AnIdleServerAlsoParses) {
  ManualClock clock;
  ServerMetrics metrics({"model"}, {{"1", "1", "scalar"}}, clock);
  EXPECT_FALSE(samples_of(metrics).empty());
}

TEST(Exposition, TheGapGaugeGrowsWithTheClockAlone) {
  ManualClock clock;
  ServerMetrics metrics({"model"}, {{"1", "1", "scalar"}}, clock);
  metrics.publish({accepted(0, 1), admitted(0, 1), token(0, 1)});
  clock.advance(milliseconds(1500));
  EXPECT_DOUBLE_EQ(samples_of(metrics).at("takt_worst_token_gap_seconds"), 1.5);
}

TEST(ExpositionChecker, RefusesWhatALenientParserForgives) {
  const std::string head = "# HELP a_total Text.\n# TYPE a_total counter\n";
  EXPECT_TRUE(parse_strictly(head + "a_total 1\n"));
  EXPECT_FALSE(parse_strictly(head + "a_total 1"));
  EXPECT_FALSE(parse_strictly(head + "a_total 1\na_total 2\n"));
  EXPECT_FALSE(parse_strictly(head + "a_total -1\n"));
  EXPECT_FALSE(parse_strictly(head + "b_total 1\n"));
  EXPECT_FALSE(parse_strictly(head + "a_total one\n"));
  EXPECT_FALSE(parse_strictly(head + head));
  EXPECT_FALSE(parse_strictly("a_total 1\n"));
  const std::string histogram = "# HELP h Text.\n# TYPE h histogram\nh_count 2\nh_sum 1\n";
  EXPECT_TRUE(parse_strictly(histogram + "h_bucket{le=\"1\"} 1\nh_bucket{le=\"+Inf\"} 2\n"));
  EXPECT_FALSE(parse_strictly(histogram + "h_bucket{le=\"1\"} 3\nh_bucket{le=\"+Inf\"} 2\n"));
  EXPECT_FALSE(parse_strictly(histogram + "h_bucket{le=\"1\"} 1\nh_bucket{le=\"+Inf\"} 1\n"));
  EXPECT_FALSE(parse_strictly(histogram + "h_bucket{le=\"1\"} 1\n"));
}

TEST(Exposition, OnRequestTheCountsAlsoHaveVllmsNames) {
  ManualClock clock;
  ServerMetrics metrics({"model"}, {{"1", "1", "scalar"}, true}, clock);
  metrics.publish({accepted(0, 1, 100), admitted(5, 1, 64), token(10, 1), token(30, 1), choice_finished(30, 1),
                   closed(30, 1), accepted(40, 2, 10, labels("index", Tier::kBatch)), admitted(50, 2)});
  const auto samples =
      samples_of(metrics, {.total = 100, .owned = 25, .cached = 30, .free = 45, .swap = {}, .owners = {}});
  const std::string model = R"({model_name="model",engine="0"})";
  EXPECT_EQ(samples.at("vllm:num_requests_running" + model), 1.0);
  EXPECT_EQ(samples.at("vllm:num_requests_waiting" + model), 0.0);
  EXPECT_EQ(samples.at("vllm:prompt_tokens_total" + model), 110.0);
  EXPECT_EQ(samples.at("vllm:generation_tokens_total" + model), 2.0);
  EXPECT_EQ(samples.at("vllm:prefix_cache_hits_total" + model), 64.0);
  EXPECT_EQ(samples.at("vllm:kv_cache_usage_perc" + model), 0.25);
  EXPECT_EQ(samples.at("vllm:time_to_first_token_seconds_count" + model), 1.0);
  EXPECT_EQ(samples.at("vllm:inter_token_latency_seconds_count" + model), 1.0);
  EXPECT_EQ(samples.at(R"(vllm:request_success_total{model_name="model",engine="0",finished_reason="stop"})"), 1.0);
}

// Which request made a bucket grow: only OpenMetrics can say it.
TEST(Exposition, OpenMetricsNamesARequestBesideTheBucketsOfLatencies) {
  ManualClock clock;
  ExpositionOptions options{{"1", "1", "scalar"}, true};
  options.request_name = [](RequestId id) { return "req-\"" + std::to_string(id.value); };
  ServerMetrics metrics({"model"}, options, clock);
  metrics.publish({accepted(0, 7), admitted(0, 7), token(40, 7), choice_finished(900, 7), closed(900, 7)});
  const KvBlocks blocks;
  const std::string text = metrics.text({&blocks, 1}, {}, ExpositionFormat::kOpenMetrics);
  EXPECT_EQ(text.substr(text.size() - 6), "# EOF\n");
  const auto has = [&](const std::string& line) { return text.find(line + "\n") != std::string::npos; };
  const std::string labels = R"({service_class="chat",tier="realtime",)";
  EXPECT_TRUE(
      has("takt_time_to_first_token_seconds_bucket" + labels + R"(le="0.05"} 1 # {request_id="req-\"7"} 0.04)"));
  EXPECT_TRUE(has("takt_time_to_first_token_seconds_bucket" + labels + R"(le="0.025"} 0)"));
  EXPECT_TRUE(has("takt_request_duration_seconds_bucket" + labels + R"(le="1.0"} 1 # {request_id="req-\"7"} 0.9)"));
  EXPECT_TRUE(has("takt_request_duration_seconds_bucket" + labels + R"(le="+Inf"} 1)"));
  EXPECT_TRUE(has("# TYPE takt_requests_started counter"));
  EXPECT_TRUE(has(R"(takt_requests_started_total{service_class="chat",tier="realtime"} 1)"));
  EXPECT_TRUE(has("# TYPE takt_requests_running gauge"));
  EXPECT_EQ(metrics.text({&blocks, 1}).find(" # {"), std::string::npos);
}

TEST(Exposition, WorkIsCountedBesideWhatTheMachineCanDo) {
  ManualClock clock;
  ServerMetrics metrics({"model"}, {{"1", "1", "scalar"}}, clock);
  EXPECT_EQ(samples_of(metrics).count(R"(takt_matrix_read_bytes_total{model="model"})"), 0U) << "not known, not shown";
  metrics.set_work(ModelIndex(0), {1000.0, 10.0, 3.0, 5e9, 7e9});
  metrics.publish({event(12, step(64, 2, milliseconds(10), milliseconds(12)))});
  const auto samples = samples_of(metrics);
  EXPECT_EQ(samples.at(R"(takt_matrix_read_bytes_total{model="model"})"), 1000.0);
  EXPECT_EQ(samples.at(R"(takt_matrix_products_total{model="model"})"), 66 * 10.0);
  EXPECT_EQ(samples.at(R"(takt_machine_read_bytes_per_second{model="model"})"), 5e9);
  EXPECT_EQ(samples.at(R"(takt_machine_products_per_second{model="model"})"), 7e9);
}

}  // namespace
}  // namespace takt::metrics
