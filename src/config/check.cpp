#include <arpa/inet.h>

#include <cstring>

#include "config/server_config.h"

namespace takt::config {
namespace {

Status contradiction(std::string key, std::string reason) {
  return Error::invalid(std::move(key), std::move(reason));
}

Status check(const SchedulerOptions& sched) {
  if (sched.max_step_tokens < sched.max_sequences) {
    return contradiction("scheduler.max_step_tokens",
                         "must be at least scheduler.max_sequences: every running sequence needs a row in every step");
  }
  const bool closed_batches = sched.join == JoinRule::kWhenEmpty;
  if (sched.padding && (!closed_batches || sched.prefill != PrefillRule::kWhole)) {
    return contradiction("scheduler.padding",
                         "pads closed batches: needs scheduler.join = when_empty and scheduler.prefill = whole");
  }
  if (sched.leave == LeaveRule::kWithBatch && !closed_batches) {
    return contradiction("scheduler.leave", "with_batch needs scheduler.join = when_empty: an open batch never ends");
  }
  if (sched.preemption == PreemptionRule::kNone && sched.admission != AdmissionRule::kWorstCase &&
      sched.reserve == KvReserve::kPaged) {
    return contradiction(
        "scheduler.preemption",
        "none needs scheduler.admission = worst_case or a scheduler.reserve: running sequences would stand still");
  }
  const WindowOptions& window = sched.window;
  if ((window.min_batch > 1 || window.served_ratio > 0.0) && window.max_wait == Duration::zero()) {
    return contradiction("scheduler.window_max_wait_ms",
                         "must be above 0 where a window waits for others: a lone request would wait for ever");
  }
  if (window.min_batch > sched.max_sequences) {
    return contradiction("scheduler.window_min_batch",
                         "must be at most scheduler.max_sequences: so many can never start together");
  }
  if (sched.max_step < sched.step_target) {
    return contradiction("scheduler.max_step_ms",
                         "must be at least scheduler.step_target_ms: a step without realtime sequences is not shorter "
                         "than one with them");
  }
  return {};
}

Status check(const CpuExecutorOptions& compute) {
  if (compute.kv_bytes != 0 && compute.kv_blocks != 0) {
    return contradiction("compute.kv_blocks", "give compute.kv_bytes or compute.kv_blocks, not both");
  }
  if (compute.block_tokens % 16 != 0) return contradiction("compute.block_tokens", "must be a multiple of 16");
  return {};
}

Status check(const http::ServerOptions& http) {
  if (http.request.head_bytes < http.request.target_bytes) {
    return contradiction("http.head_bytes", "must be at least http.target_bytes: the head holds the target");
  }
  if (http.connections_per_peer > http.connections) {
    return contradiction("http.connections_per_peer", "must be at most http.connections");
  }
  return {};
}

Status check(const serve::ServeOptions& serve, const http::ServerOptions& http) {
  if (serve.max_queued_body_bytes < http.request.body_bytes) {
    return contradiction("text.max_queued_body_bytes",
                         "must be at least http.body_bytes: the largest body could never be queued");
  }
  if (serve.reader_behind_bytes > http.stream_queue_bytes) {
    return contradiction("stream.reader_behind_bytes",
                         "must be at most http.stream_queue_bytes: a reader would be cut before it counts as behind");
  }
  if (serve.api.max_prompts > serve.api.max_choices) {
    return contradiction("api.max_choices", "must be at least api.max_prompts: every prompt has a choice");
  }
  return {};
}

Status check(const AuthOptions& auth, const std::string& host) {
  const bool has_key = !auth.api_keys.empty() || !auth.api_key_file.empty();
  for (const auto& key : auth.api_keys) {
    if (key.empty()) return contradiction("auth.api_keys", "a key is empty");
  }
  if (has_key && auth.no_auth) return contradiction("auth.no_auth", "contradicts the API key that is given");
  if (!has_key && !auth.no_auth && !is_loopback(host)) {
    return contradiction(
        "http.host", host + " can be reached from other machines: give --api-key or --api-key-file, or say --no-auth");
  }
  return {};
}

}  // namespace

bool is_loopback(const std::string& host) {
  if (host == "localhost") return true;
  in_addr v4{};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6{};
  if (inet_pton(AF_INET6, host.c_str(), &v6) == 1) return std::memcmp(&v6, &in6addr_loopback, sizeof(v6)) == 0;
  return false;
}

Status check(const ServerConfig& config) {
  for (const auto& status : {check(config.engine.sched), check(config.compute), check(config.http),
                             check(config.serve, config.http), check(config.auth, config.http.host)}) {
    if (!status) return status;
  }
  return {};
}

}  // namespace takt::config
