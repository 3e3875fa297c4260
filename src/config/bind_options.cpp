#include <algorithm>
#include <limits>

#include "config/presets.h"
#include "config/server_config.h"
#include "sched/numbers_of_options.h"

namespace takt::config {
namespace {

constexpr Duration kMillisecond = std::chrono::milliseconds(1);
constexpr Duration kSecond = std::chrono::seconds(1);
constexpr std::int64_t kDay = std::int64_t{24} * 3600;  // seconds
constexpr std::int64_t kTebibyte = std::int64_t{1} << 40;
constexpr std::int64_t kManyTokens = std::int64_t{1} << 31;

void bind(OptionTable& table, ProcessOptions& process) {
  table.add_texts("server.models", process.models);
  table.add_text("server.step_log", process.step_log);
  table.add_text("server.time_zone", process.time_zone);
  const std::size_t from = table.options().size();
  table.add_duration("server.drain_seconds", process.drain, kSecond, 0, kDay);
  table.add_choice("server.log_level", process.log_level,
                   {"trace", "debug", "info", "warning", "error", "critical", "off"});
  table.may_change_at_run_time(from);
  table.add_integer("server.step_log_bytes", process.step_log_bytes, 1 << 20, kTebibyte);
  table.add_integer("server.step_log_files", process.step_log_files, 1, 10'000);
  table.add_choice("server.metrics_compat", process.metrics_compat, {"", "vllm"});
  table.add_integer("server.kept_requests", process.kept_requests, 0, 1'000'000);
}

void bind(OptionTable& table, trace::CaptureOptions& capture) {
  table.add_text("capture.folder", capture.folder);
  table.add_integer("capture.days", capture.days, 1, 3650);
  table.add_integer("capture.segment_bytes", capture.segment_bytes, 1 << 20, kTebibyte);
  table.add_integer("capture.total_bytes", capture.total_bytes, 2 << 20, 64 * kTebibyte);
  table.add_switch("capture.text", capture.text);
}

void bind(OptionTable& table, AuthOptions& auth) {
  const std::size_t from = table.options().size();
  table.add_secrets("auth.api_keys", auth.api_keys);
  table.add_secrets("auth.admin_keys", auth.admin_keys);
  table.add_text("auth.api_key_file", auth.api_key_file);
  table.may_change_at_run_time(from);
  table.add_switch("auth.no_auth", auth.no_auth);
}

void bind(OptionTable& table, CpuExecutorOptions& compute) {
  table.add_integer("compute.threads", compute.threads, 0, 1024);
  table.add_enum("compute.kv_type", compute.kv_type,
                 {{"f16", KvType::kF16}, {"f32", KvType::kF32}, {"q8_0", KvType::kQ8_0}});
  table.add_switch("compute.repack", compute.repack);
  table.add_integer("compute.kv_bytes", compute.kv_bytes, 0, 64 * kTebibyte);
  table.add_integer("compute.kv_blocks", compute.kv_blocks, 0, kMostKvBlocks);
  table.add_real("compute.kv_memory_share", compute.memory_share, 0.01, 1.0);
  table.add_integer("compute.block_tokens", compute.block_tokens, 16, 512);
  table.add_integer("compute.max_context_tokens", compute.max_context_tokens, 0, kManyTokens - 1);
  table.add_integer("compute.max_step_tokens", compute.max_step_tokens, 1, kMostStepTokens);
}

// Binds each number of a component to its key and range.
struct NumberBinder {
  OptionTable& table;

  void operator()(const char* key, std::uint32_t& field, std::int64_t least, std::int64_t most) const {
    table.add_integer(key, field, least, most);
  }
  void operator()(const char* key, double& field, double least, double most) const {
    table.add_real(key, field, least, most);
  }
  void operator()(const char* key, Duration& field, Duration unit, std::int64_t least, std::int64_t most) const {
    table.add_duration(key, field, unit, least, most);
  }
};

void bind(OptionTable& table, SchedulerOptions& sched) {
  table.add_enum("scheduler.join", sched.join,
                 {{"every_step", JoinRule::kEveryStep}, {"when_empty", JoinRule::kWhenEmpty}});
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
                 {{"none", PreemptionRule::kNone},
                  {"recompute", PreemptionRule::kRecompute},
                  {"swap", PreemptionRule::kSwap},
                  {"auto", PreemptionRule::kAuto}});
  table.add_enum("scheduler.order", sched.order,
                 {{"fcfs", OrderRule::kFcfs}, {"fair", OrderRule::kFair}, {"deadline", OrderRule::kDeadline}});
  visit_numbers(sched, NumberBinder{table});
}

void bind(OptionTable& table, const std::string& section, QueueLimits& limits) {
  table.add_integer(section + ".max_waiting", limits.max_waiting, 0, 1 << 20);
  table.add_integer(section + ".max_waiting_tokens", limits.max_waiting_tokens, 0, std::int64_t{1} << 40);
  table.add_integer(section + ".max_per_tenant", limits.max_per_tenant, 0, 1 << 20);
  table.add_integer(section + ".max_per_user", limits.max_per_user, 0, 1 << 20);
}

void bind(OptionTable& table, EngineOptions& engine) {
  const std::size_t scheduling = table.options().size();
  bind(table, engine.sched);
  bind(table, "queue_realtime", engine.realtime);
  bind(table, "queue_batch", engine.batch);
  table.may_change_at_run_time(scheduling);
  table.add_switch("kv.prefix_cache", engine.kv.prefix_cache);
  const std::size_t keeping = table.options().size();
  table.add_duration("kv.linger_ms", engine.kv.linger, kMillisecond, 0, 3'600'000);
  table.add_real("kv.pinned_share", engine.kv.pinned_share, 0.0, 0.9);
  table.may_change_at_run_time(keeping);
  table.add_text("kv.swap_path", engine.swap.path);
  table.add_integer("kv.swap_bytes", engine.swap.bytes, 0, kTebibyte);
  table.add_integer("kv.swap_staging_bytes", engine.swap.staging_bytes, 1 << 20, kTebibyte);
  const std::size_t steps = table.options().size();
  table.add_duration("engine.stall_after_ms", engine.stall_after, kMillisecond, 100, 3'600'000);
  table.add_integer("engine.step_retries", engine.step_retries, 0, 100);
  table.may_change_at_run_time(steps);
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
  table.add_integer("api.max_logit_biases", api.max_logit_biases, 0, api::ApiOptions::Sampling::kMaxBiases);
  table.add_integer("api.max_top_logprobs", api.max_top_logprobs, 0, api::ApiOptions::Sampling::kMaxTopLogprobs);
  table.add_integer("api.max_prompt_tokens", api.max_prompt_tokens, 1, kManyTokens);
  table.add_integer("api.max_name_bytes", api.max_name_bytes, 16, 1 << 20);
}

constexpr double kAlmostAll = 0.95;

// What hours of the day may change of a class.
void bind_settings(OptionTable& table, const std::string& before, route::ClassSettings& settings) {
  constexpr std::int64_t kLongest = kDay * 1000;
  ServiceTargets& targets = settings.targets;
  table.add_duration(before + "ttft_ms", targets.ttft, kMillisecond, 1, kLongest);
  table.add_duration(before + "itl_ms", targets.itl, kMillisecond, 1, kLongest);
  table.add_duration(before + "completion_ms", targets.completion, kMillisecond, 0, kLongest);
  table.add_duration(before + "window_ms", targets.window, kMillisecond, 0, 600'000);
  table.add_duration(before + "max_queue_wait_ms", targets.max_queue_wait, kMillisecond, 1, kLongest);
  table.add_integer(before + "pinned_prefix_tokens", targets.pinned_prefix_tokens, 0, 1 << 24);
  table.add_integer(before + "max_waiting", settings.queue.max_waiting, 0, 1 << 20);
  table.add_integer(before + "max_waiting_tokens", settings.queue.max_waiting_tokens, 0, std::int64_t{1} << 40);
  ClassLimits& limits = settings.limits;
  table.add_real(before + "weight", limits.weight, 0.01, 100.0);
  table.add_integer(before + "reserved_seats", limits.reserved.seats, 0, kMostSeats);
  table.add_real(before + "reserved_blocks", limits.reserved.blocks, 0.0, kAlmostAll);
  table.add_real(before + "reserved_step_time", limits.reserved.step_time, 0.0, kAlmostAll);
  table.add_integer(before + "max_seats", limits.ceiling.seats, 1, kMostSeats);
  table.add_real(before + "max_blocks", limits.ceiling.blocks, 0.01, 1.0);
  table.add_real(before + "max_step_time", limits.ceiling.step_time, 0.01, 1.0);
  table.add_real(before + "min_share", limits.min_share, 0.0, kAlmostAll);
}

Status add_hours(OptionTable& table, const std::string& before, const std::string& name, route::ClassOptions& owner) {
  constexpr std::size_t kMostHours = 32;
  if (name != std::to_string(owner.hours.size() + 1) || owner.hours.size() == kMostHours) {
    return Error::invalid(before.substr(0, before.size() - 1),
                          "the hours of a class are a list of at most 32, counted from 1");
  }
  const std::size_t from = table.options().size();
  route::ClassHours& hours = owner.hours.emplace_back();
  table.add_text(before + "from", hours.from);
  table.add_text(before + "to", hours.to);
  table.add_patterns(before + "days", hours.days);
  bind_settings(table, before, hours.settings);
  table.may_change_at_run_time(from);
  return {};
}

void bind_class(OptionTable& table, const std::string& before, route::ClassOptions& service_class) {
  const std::size_t from = table.options().size();
  table.add_enum(before + "tier", service_class.always.limits.tier,
                 {{"realtime", Tier::kRealtime}, {"batch", Tier::kBatch}});
  bind_settings(table, before, service_class.always);
  table.may_change_at_run_time(from);
  table.add_list(
      before + "hours",
      [&service_class](OptionTable& to, const std::string& prefix, const std::string& name) {
        return add_hours(to, prefix, name, service_class);
      },
      [&service_class] { service_class.hours.clear(); });
}

bool is_class_name(const std::string& name) {
  constexpr std::size_t kLongest = 64;
  return !name.empty() && name.size() <= kLongest && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

void bind_classes(OptionTable& table, std::deque<route::ClassOptions>& classes) {
  for (route::ClassOptions& built_in : classes) bind_class(table, "class." + built_in.name + ".", built_in);
  table.add_named("class", [&classes](OptionTable& to, const std::string& prefix, const std::string& name) -> Status {
    if (!is_class_name(name) || classes.size() == kMostClasses) {
      return Error::invalid(prefix.substr(0, prefix.size() - 1),
                            "there may be 32 classes; a name has 1 to 64 of a-z, 0-9, - and _");
    }
    route::ClassOptions& made = classes.emplace_back();
    made.name = name;
    made.always.targets.window = std::chrono::milliseconds(20);  // as a chat
    bind_class(to, prefix, made);
    return {};
  });
}

void bind_rule(OptionTable& table, const std::string& before, route::RuleOptions& rule) {
  const std::size_t from = table.options().size();
  table.add_text(before + "class", rule.service_class);
  table.add_patterns(before + "key", rule.key);
  table.add_patterns(before + "tenant", rule.tenant);
  table.add_patterns(before + "application", rule.application);
  table.add_patterns(before + "user", rule.user);
  table.add_patterns(before + "model", rule.model);
  table.add_patterns(before + "path", rule.path);
  table.add_patterns(before + "header", rule.header);
  table.add_integer(before + "min_prompt_tokens", rule.min_prompt_tokens, 0, std::int64_t{1} << 40);
  table.add_integer(before + "max_prompt_tokens", rule.max_prompt_tokens, 0, std::int64_t{1} << 40);
  table.add_switch(before + "overrides_request", rule.overrides_request);
  table.may_change_at_run_time(from);
}

void bind_rules(OptionTable& table, std::deque<route::RuleOptions>& rules) {
  constexpr std::size_t kMostRules = 256;
  table.add_list(
      "route",
      [&rules](OptionTable& to, const std::string& prefix, const std::string& name) -> Status {
        if (name != std::to_string(rules.size() + 1) || rules.size() == kMostRules) {
          return Error::invalid(prefix.substr(0, prefix.size() - 1), "rules are a list of at most 256, counted from 1");
        }
        bind_rule(to, prefix, rules.emplace_back());
        return {};
      },
      [&rules] { rules.clear(); });
}

}  // namespace

OptionTable bind_options(ServerConfig& config) {
  OptionTable table;
  // A section's keys stand together: what is printed is a TOML file.
  bind(table, config.process);
  table.add_switch("server.access_log", config.serve.access_log);
  bind(table, config.capture);
  bind(table, config.auth);
  bind(table, config.compute);
  const std::size_t from = table.options().size();
  table.add_choice("scheduler.preset", config.preset, preset_names());
  table.may_change_at_run_time(from);
  bind(table, config.engine);
  bind(table, config.http);
  bind(table, config.serve);
  bind(table, config.serve.api);
  bind_classes(table, config.route.classes);
  bind_rules(table, config.route.rules);
  return table;
}

}  // namespace takt::config
