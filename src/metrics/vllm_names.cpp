#include "metrics/vllm_names.h"

#include <array>
#include <string>
#include <utility>

namespace takt::metrics {
namespace {

using prometheus::MetricType;

constexpr std::array kFinishedReasons{
    std::pair{FinishReason::kStop, "stop"}, std::pair{FinishReason::kLength, "length"},
    std::pair{FinishReason::kCancelled, "abort"}, std::pair{FinishReason::kFailed, "error"}};

MetricLabels model_labels(const std::string& name) {
  return {{"model_name", name}, {"engine", "0"}};
}

std::string joined_names(const Counts& counts) {
  std::string names;
  for (const ModelCounts& model : counts.models) names += (names.empty() ? "" : ",") + model.name;
  return names;
}

std::uint64_t sum_of(const Counts& counts, std::uint64_t ClassCounts::*member) {
  std::uint64_t sum = 0;
  for (const ClassCounts& c : counts.classes) sum += c.*member;
  return sum;
}

Histogram merged(const Counts& counts, Histogram ClassCounts::*member) {
  Histogram sum = ClassCounts{}.*member;
  for (const ClassCounts& c : counts.classes) sum.merge(c.*member);
  return sum;
}

void add_vllm_requests(Families& families, const Counts& counts) {
  const MetricLabels labels = model_labels(joined_names(counts));
  const auto number = [&](MetricType type, const char* name, const char* help, std::uint64_t ClassCounts::*member) {
    families.begin(type, name, help);
    families.value(static_cast<double>(sum_of(counts, member)), labels);
  };
  number(MetricType::Gauge, "vllm:num_requests_running", "Requests admitted and not over.", &ClassCounts::running);
  number(MetricType::Gauge, "vllm:num_requests_waiting", "Requests accepted and not admitted.", &ClassCounts::waiting);
  number(MetricType::Counter, "vllm:prompt_tokens_total", "Prompt tokens of admitted requests.",
         &ClassCounts::prompt_tokens);
  number(MetricType::Counter, "vllm:generation_tokens_total", "Tokens sampled.", &ClassCounts::generated_tokens);
  number(MetricType::Counter, "vllm:prefix_cache_queries_total", "Prompt tokens looked for in the prefix cache.",
         &ClassCounts::prompt_tokens);
  number(MetricType::Counter, "vllm:prefix_cache_hits_total", "Prompt tokens found in the prefix cache.",
         &ClassCounts::cached_tokens);
  families.begin(MetricType::Counter, "vllm:request_success_total", "Requests over, by reason.");
  for (const auto& [reason, name] : kFinishedReasons) {
    MetricLabels with_reason = labels;
    with_reason.push_back({"finished_reason", name});
    families.value(static_cast<double>(counts.closed_by_reason[static_cast<std::size_t>(reason)]), with_reason);
  }
  const auto histogram = [&](const char* name, const char* help, Histogram ClassCounts::*member) {
    families.begin(MetricType::Histogram, name, help);
    families.value(merged(counts, member), labels);
  };
  histogram("vllm:time_to_first_token_seconds", "First token minus arrival.", &ClassCounts::first_token);
  histogram("vllm:inter_token_latency_seconds", "Every gap between two tokens.", &ClassCounts::token_gap);
  histogram("vllm:request_time_per_output_token_seconds", "(last - first token) / (tokens - 1).",
            &ClassCounts::per_token);
  histogram("vllm:e2e_request_latency_seconds", "End minus arrival.", &ClassCounts::duration);
  histogram("vllm:request_queue_time_seconds", "From acceptance (in the queue) to admission.",
            &ClassCounts::queue_wait);
}

}  // namespace

void add_vllm_names(Families& families, const Counts& counts, std::span<const KvBlocks> memory) {
  add_vllm_requests(families, counts);
  families.begin(MetricType::Counter, "vllm:num_preemptions_total", "Sequences that gave up KV blocks.");
  for (const ModelCounts& m : counts.models) families.value(static_cast<double>(m.preemptions()), model_labels(m.name));
  families.begin(MetricType::Gauge, "vllm:kv_cache_usage_perc", "KV blocks that sequences own, of all; 1 is full.");
  for (std::size_t i = 0; i < counts.models.size() && i < memory.size(); ++i) {
    const double total = memory[i].total;
    families.value(total > 0.0 ? memory[i].owned / total : 0.0, model_labels(counts.models[i].name));
  }
}

}  // namespace takt::metrics
