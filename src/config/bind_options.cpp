#include <limits>

#include "config/presets.h"
#include "config/server_config.h"

namespace takt::config {
namespace {

constexpr Duration kMillisecond = std::chrono::milliseconds(1);
constexpr Duration kSecond = std::chrono::seconds(1);
constexpr std::int64_t kDay = std::int64_t{24} * 3600;  // seconds
constexpr std::int64_t kTebibyte = std::int64_t{1} << 40;
constexpr std::int64_t kManyTokens = std::int64_t{1} << 31;

void bind(OptionTable& table, ProcessOptions& process) {
  table.add_texts("server.models", process.models);
  table.add_duration("server.drain_seconds", process.drain, kSecond, 0, kDay);
  table.add_choice("server.log_level", process.log_level,
                   {"trace", "debug", "info", "warning", "error", "critical", "off"});
  table.add_text("server.step_log", process.step_log);
  table.add_integer("server.step_log_bytes", process.step_log_bytes, 1 << 20, kTebibyte);
  table.add_integer("server.step_log_files", process.step_log_files, 1, 10'000);
  table.add_integer("server.kept_requests", process.kept_requests, 0, 1'000'000);
}

void bind(OptionTable& table, AuthOptions& auth) {
  table.add_secrets("auth.api_keys", auth.api_keys);
  table.add_secrets("auth.admin_keys", auth.admin_keys);
  table.add_text("auth.api_key_file", auth.api_key_file);
  table.add_switch("auth.no_auth", auth.no_auth);
}

void bind(OptionTable& table, CpuExecutorOptions& compute) {
  table.add_integer("compute.threads", compute.threads, 0, 1024);
  table.add_enum("compute.kv_type", compute.kv_precision, {{"f16", KvPrecision::kF16}, {"f32", KvPrecision::kF32}});
  table.add_integer("compute.kv_bytes", compute.kv_bytes, 0, 64 * kTebibyte);
  table.add_integer("compute.kv_blocks", compute.kv_blocks, 0, kMostKvBlocks);
  table.add_real("compute.kv_memory_share", compute.memory_share, 0.01, 1.0);
  table.add_integer("compute.block_tokens", compute.block_tokens, 16, 512);
  table.add_integer("compute.max_context_tokens", compute.max_context_tokens, 0, kManyTokens - 1);
  table.add_integer("compute.max_step_tokens", compute.max_step_tokens, 1, kMostStepTokens);
}

void bind(OptionTable& table, SchedulerOptions& sched) {
  table.add_enum("scheduler.join", sched.join,
                 {{"every_step", JoinRule::kEveryStep}, {"when_empty", JoinRule::kWhenEmpty}});
  table.add_integer("scheduler.window_min_batch", sched.window.min_batch, 1, 65536);
  table.add_real("scheduler.window_served_ratio", sched.window.served_ratio, 0.0, 10.0);
  table.add_duration("scheduler.window_max_wait_ms", sched.window.max_wait, kMillisecond, 0, 600'000);
  table.add_switch("scheduler.window_adaptive", sched.window.adaptive);
  table.add_enum("scheduler.prefill", sched.prefill,
                 {{"chunked", PrefillRule::kChunked}, {"whole", PrefillRule::kWhole}});
  table.add_switch("scheduler.padding", sched.padding);
  table.add_enum("scheduler.leave", sched.leave,
                 {{"when_finished", LeaveRule::kWhenFinished}, {"with_batch", LeaveRule::kWithBatch}});
  table.add_enum("scheduler.admission", sched.admission,
                 {{"greedy", AdmissionRule::kGreedy},
                  {"predicted", AdmissionRule::kPredicted},
                  {"worst_case", AdmissionRule::kWorstCase}});
  table.add_enum(
      "scheduler.reserve", sched.reserve,
      {{"paged", KvReserve::kPaged}, {"worst_case", KvReserve::kWorstCase}, {"context", KvReserve::kContext}});
  table.add_enum("scheduler.preemption", sched.preemption,
                 {{"none", PreemptionRule::kNone}, {"recompute", PreemptionRule::kRecompute}});
  table.add_enum("scheduler.order", sched.order,
                 {{"fcfs", OrderRule::kFcfs}, {"fair", OrderRule::kFair}, {"deadline", OrderRule::kDeadline}});
  table.add_integer("scheduler.max_overtakes", sched.max_overtakes, 1, 1'000'000);
  table.add_real("scheduler.fair_prompt_weight", sched.fair.prompt, 0.0, 1000.0);
  table.add_real("scheduler.fair_cached_weight", sched.fair.cached, 0.0, 1000.0);
  table.add_real("scheduler.fair_output_weight", sched.fair.output, 0.0, 1000.0);
  table.add_integer("scheduler.max_sequences", sched.max_sequences, 1, kMostSequences);
  table.add_integer("scheduler.max_step_tokens", sched.max_step_tokens, 1, kMostStepTokens);
  table.add_duration("scheduler.step_target_ms", sched.step_target, kMillisecond, 1, 60'000);
  table.add_duration("scheduler.max_step_ms", sched.max_step, kMillisecond, 1, 60'000);
  table.add_real("scheduler.planning_margin", sched.planning_margin, 0.0, 0.5);
  table.add_real("scheduler.newcomer_share", sched.newcomer_share, 0.1, 0.9);
  table.add_integer("scheduler.max_decode_only_steps", sched.max_decode_only_steps, 1, 1000);
  table.add_real("scheduler.watermark", sched.watermark, 0.0, 0.5);
  table.add_real("scheduler.batch_min_share", sched.batch_min_share, 0.0, 0.5);
  table.add_integer("scheduler.breaker_preemptions_per_minute", sched.breaker.preemptions_per_minute, 0, 100'000);
  table.add_duration("scheduler.breaker_recovery_seconds", sched.breaker.recovery, kSecond, 1, 3600);
  table.add_integer("scheduler.protect_after", sched.protect_after, 1, 1000);
  table.add_integer("scheduler.lookahead", sched.lookahead, 1, 65536);
}

void bind(OptionTable& table, const std::string& section, QueueLimits& limits) {
  table.add_integer(section + ".max_waiting", limits.max_waiting, 0, 1 << 20);
  table.add_integer(section + ".max_waiting_tokens", limits.max_waiting_tokens, 0, std::int64_t{1} << 40);
  table.add_integer(section + ".max_per_tenant", limits.max_per_tenant, 0, 1 << 20);
  table.add_integer(section + ".max_per_user", limits.max_per_user, 0, 1 << 20);
}

void bind(OptionTable& table, EngineOptions& engine) {
  bind(table, engine.sched);
  table.add_switch("kv.prefix_cache", engine.kv.prefix_cache);
  table.add_duration("kv.linger_ms", engine.kv.linger, kMillisecond, 0, 3'600'000);
  table.add_real("kv.pinned_share", engine.kv.pinned_share, 0.0, 0.9);
  bind(table, "queue_realtime", engine.realtime);
  bind(table, "queue_batch", engine.batch);
  table.add_duration("engine.stall_after_ms", engine.stall_after, kMillisecond, 100, 3'600'000);
  table.add_integer("engine.step_retries", engine.step_retries, 0, 100);
  table.add_duration("engine.warm_up_ms", engine.warm_up, kMillisecond, 1, 600'000);
}

void bind(OptionTable& table, http::ServerOptions& http) {
  table.add_text("http.host", http.host);
  table.add_integer("http.port", http.port, 0, 65535);
  table.add_integer("http.threads", http.threads, 1, 64);
  table.add_integer("http.backlog", http.backlog, 1, 65535);
  table.add_integer("http.target_bytes", http.request.target_bytes, 256, 1 << 20);
  table.add_integer("http.head_bytes", http.request.head_bytes, 1024, 1 << 20);
  table.add_integer("http.header_count", http.request.header_count, 8, 10'000);
  table.add_integer("http.body_bytes", http.request.body_bytes, 1024, std::int64_t{1} << 32);
  table.add_duration("http.header_timeout_ms", http.timeouts.header, kMillisecond, 100, 3'600'000);
  table.add_duration("http.body_progress_timeout_ms", http.timeouts.body_progress, kMillisecond, 100, 3'600'000);
  table.add_integer("http.body_progress_bytes", http.timeouts.body_progress_bytes, 1, 1 << 30);
  table.add_duration("http.idle_timeout_ms", http.timeouts.idle, kMillisecond, 100, kDay * 1000);
  table.add_duration("http.write_progress_timeout_ms", http.timeouts.write_progress, kMillisecond, 100, 3'600'000);
  table.add_duration("http.linger_ms", http.timeouts.linger, kMillisecond, 0, 60'000);
  table.add_duration("http.half_close_probe_ms", http.timeouts.half_close_probe, kMillisecond, 100, 3'600'000);
  table.add_integer("http.connections", http.connections, 1, 1 << 20);
  table.add_integer("http.connections_per_peer", http.connections_per_peer, 1, 1 << 20);
  table.add_integer("http.stream_queue_bytes", http.stream_queue_bytes, 4096, 1 << 30);
  table.add_integer("http.read_ahead_bytes", http.read_ahead_bytes, 1024, 1 << 30);
  table.add_integer("http.socket_send_buffer_bytes", http.socket_send_buffer_bytes, 0, 1 << 30);
  table.add_texts("http.cors_allowed_origins", http.cors_allowed_origins);
}

void bind(OptionTable& table, serve::ServeOptions& serve) {
  table.add_integer("text.threads", serve.text_threads, 1, 256);
  table.add_integer("text.max_queued_bodies", serve.max_queued_bodies, 1, 1 << 20);
  table.add_integer("text.max_queued_body_bytes", serve.max_queued_body_bytes, 1024, kTebibyte);
  table.add_duration("stream.keep_alive_ms", serve.keep_alive, kMillisecond, 100, 10'000);
  table.add_integer("stream.reader_behind_bytes", serve.reader_behind_bytes, 1024, 1 << 30);
  table.add_duration("stream.reader_patience_ms", serve.reader_patience, kMillisecond, 100, 3'600'000);
  table.add_integer("stream.drain_retry_after_seconds", serve.drain_retry_after_seconds, 1, 3600);
}

void bind(OptionTable& table, api::ApiOptions& api) {
  table.add_switch("api.strict", api.strict);
  table.add_integer("api.max_json_depth", api.max_json_depth, 4, 256);
  table.add_integer("api.max_messages", api.max_messages, 1, 1 << 20);
  table.add_integer("api.max_content_parts", api.max_content_parts, 1, 1 << 20);
  table.add_integer("api.max_prompts", api.max_prompts, 1, 65536);
  table.add_integer("api.max_choices", api.max_choices, 1, 65536);
  table.add_integer("api.max_stops", api.max_stops, 0, 65536);
  table.add_integer("api.max_stop_bytes", api.max_stop_bytes, 1, 1 << 20);
  table.add_integer("api.max_stop_tokens", api.max_stop_tokens, 0, 65536);
  table.add_integer("api.max_logit_biases", api.max_logit_biases, 0, 1 << 20);
  table.add_integer("api.max_top_logprobs", api.max_top_logprobs, 0, 1000);
  table.add_integer("api.max_prompt_tokens", api.max_prompt_tokens, 1, kManyTokens);
  table.add_integer("api.max_name_bytes", api.max_name_bytes, 16, 1 << 20);
}

}  // namespace

OptionTable bind_options(ServerConfig& config) {
  OptionTable table;
  // A section's keys stand together: what is printed is a TOML file.
  bind(table, config.process);
  table.add_switch("server.access_log", config.serve.access_log);
  bind(table, config.auth);
  bind(table, config.compute);
  table.add_choice("scheduler.preset", config.preset, preset_names());
  bind(table, config.engine);
  bind(table, config.http);
  bind(table, config.serve);
  bind(table, config.serve.api);
  return table;
}

}  // namespace takt::config
