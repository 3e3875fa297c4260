#include <arpa/inet.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "config/server_config.h"

namespace takt::config {
namespace {

Status contradiction(std::string key, std::string reason) {
  return Error::invalid(std::move(key), std::move(reason));
}

// Every running sequence needs a row in every step, and prefill keeps one.
Status check_rows(const char* key, std::uint32_t rows, std::uint32_t sequences) {
  if (rows > sequences) return {};
  return contradiction(key, "is " + std::to_string(rows) + ", must be more than scheduler.max_sequences, which is " +
                                std::to_string(sequences) +
                                ": every running sequence needs a row in every step, and prefill keeps one");
}

Status check(const SchedulerOptions& sched) {
  if (auto status = check_rows("scheduler.max_step_tokens", sched.max_step_tokens, sched.max_sequences); !status)
    return status;
  const bool closed_batches = sched.join == JoinRule::kWhenEmpty;
  if (sched.padding && (!closed_batches || sched.prefill != PrefillRule::kWhole)) {
    return contradiction("scheduler.padding",
                         "pads closed batches: needs scheduler.join = when_empty and scheduler.prefill = whole");
  }
  if (sched.leave == LeaveRule::kWithBatch && !closed_batches) {
    return contradiction("scheduler.leave", "with_batch needs scheduler.join = when_empty: an open batch never ends");
  }
  if (sched.order != OrderRule::kFcfs && closed_batches) {
    return contradiction("scheduler.order",
                         "fair and deadline need scheduler.join = every_step: a closed batch takes who came first");
  }
  if (sched.fair.cached > sched.fair.prompt) {
    return contradiction(
        "scheduler.fair_cached_weight",
        "must be at most scheduler.fair_prompt_weight: what is found costs less than what is computed");
  }
  if (sched.fair.prompt == 0.0 && sched.fair.output == 0.0) {
    return contradiction("scheduler.fair_output_weight",
                         "must be above 0 where scheduler.fair_prompt_weight is 0: no work would cost anything");
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

Status check(const char* tier, const QueueLimits& queue) {
  if (queue.max_per_tenant != 0 && queue.max_per_user > queue.max_per_tenant) {
    return contradiction(std::string(tier) + ".max_per_user",
                         "must be at most " + std::string(tier) + ".max_per_tenant: a user is one of a tenant's");
  }
  return {};
}

Status check(const EngineOptions& engine) {
  if (auto status = check(engine.sched); !status) return status;
  if (engine.sched.preemption == PreemptionRule::kSwap && !engine.swap.wanted())
    return contradiction("scheduler.preemption", "swap needs an arena: give kv.swap_path or kv.swap_bytes");
  if (engine.stall_after <= engine.sched.max_step) {
    return contradiction("engine.stall_after_ms",
                         "must be more than scheduler.max_step_ms: every long step would count as a stall");
  }
  if (auto status = check("queue_realtime", engine.realtime); !status) return status;
  return check("queue_batch", engine.batch);
}

Status check(const CpuExecutorOptions& compute, const SchedulerOptions& sched) {
  if (auto status = check_rows("compute.max_step_tokens", compute.max_step_tokens, sched.max_sequences); !status)
    return status;
  if (compute.max_context_tokens == 1) {
    return contradiction("compute.max_context_tokens",
                         "must be 0 or at least 2: one token of a prompt and one of its answer");
  }
  if (compute.kv_bytes != 0 && compute.kv_blocks != 0) {
    return contradiction("compute.kv_blocks", "give compute.kv_bytes or compute.kv_blocks, not both");
  }
  if (compute.block_tokens % 16 != 0) return contradiction("compute.block_tokens", "must be a multiple of 16");
  return {};
}

bool is_host(const std::string& host) {
  constexpr std::size_t kLongestName = 253;  // RFC 1035
  return !host.empty() && host.size() <= kLongestName &&
         std::all_of(host.begin(), host.end(), [](char c) { return c > 0x20 && c < 0x7F; });
}

bool is_origin(const std::string& origin) {
  return origin == "*" || origin == "loopback" || origin.find("://") != std::string::npos;
}

Status check(const http::ServerOptions& http) {
  if (!is_host(http.host)) {
    return contradiction("http.host", "must be a name or an address: 1 to 253 characters without spaces");
  }
  for (const auto& origin : http.cors_allowed_origins) {
    if (is_origin(origin)) continue;
    return contradiction(
        "http.cors_allowed_origins",
        "\"" + origin + "\" is neither an origin such as https://chat.example, nor app://*, loopback or *");
  }
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
  const bool has_key = !auth.api_keys.empty() || !auth.admin_keys.empty() || !auth.api_key_file.empty();
  for (const auto& key : auth.api_keys) {
    if (key.empty()) return contradiction("auth.api_keys", "a key is empty");
  }
  for (const auto& key : auth.admin_keys) {
    if (key.empty()) return contradiction("auth.admin_keys", "a key is empty");
  }
  if (has_key && auth.no_auth) return contradiction("auth.no_auth", "contradicts the API key that is given");
  if (!has_key && !auth.no_auth && !is_loopback(host)) {
    return contradiction(
        "http.host",
        host + " can be reached from other machines: give --api-key, --api-key-file or --admin-key, or say --no-auth");
  }
  return {};
}

// One class at one time of the day. `before`: "class.chat." or "class.chat.hours.1."
Status check(const std::string& before, const route::ClassSettings& settings) {
  const ServiceTargets& targets = settings.targets;
  const ClassLimits& limits = settings.limits;
  if (targets.window > targets.ttft) {
    return contradiction(before + "window_ms",
                         "must be at most ttft_ms: a window could hold a request beyond its first token's target");
  }
  if (targets.window > targets.max_queue_wait) {
    return contradiction(before + "window_ms",
                         "must be at most max_queue_wait_ms: a request would expire while the window holds it");
  }
  if (targets.completion != Duration::zero() && targets.completion < targets.ttft)
    return contradiction(before + "completion_ms",
                         "must be 0 or at least ttft_ms: the first token comes before the last");
  if (limits.ceiling.seats < limits.reserved.seats)
    return contradiction(before + "max_seats", "must be at least reserved_seats");
  if (limits.ceiling.blocks < limits.reserved.blocks)
    return contradiction(before + "max_blocks", "must be at least reserved_blocks");
  if (limits.ceiling.step_time < limits.reserved.step_time)
    return contradiction(before + "max_step_time", "must be at least reserved_step_time");
  if (limits.tier != Tier::kBatch && limits.min_share > 0.0) {
    return contradiction(before + "min_share",
                         "is for the batch tier: realtime classes come first anyway, and have reserves");
  }
  if (limits.ceiling.step_time < limits.min_share)
    return contradiction(before + "min_share", "must be at most max_step_time");
  return {};
}

// The most that a class keeps for itself at any time of the day.
ClassPart largest_reserve(const route::ClassOptions& service_class) {
  ClassPart most = service_class.always.limits.reserved;
  for (const route::ClassHours& hours : service_class.hours) {
    const ClassPart& other = hours.settings.limits.reserved;
    most.seats = std::max(most.seats, other.seats);
    most.blocks = std::max(most.blocks, other.blocks);
    most.step_time = std::max(most.step_time, other.step_time);
  }
  return most;
}

double largest_share(const route::ClassOptions& service_class) {
  double most = service_class.always.limits.min_share;
  for (const route::ClassHours& hours : service_class.hours) most = std::max(most, hours.settings.limits.min_share);
  return most;
}

// What all classes keep must leave something over.
Status check_reserves(const std::deque<route::ClassOptions>& classes, std::uint32_t seats) {
  constexpr double kWhole = 0.95;
  std::uint64_t seats_kept = 0;
  double blocks_kept = 0.0;
  double time_kept = 0.0;
  double share = 0.0;
  for (const route::ClassOptions& service_class : classes) {
    const ClassPart kept = largest_reserve(service_class);
    const std::string before = "class." + service_class.name + ".";
    seats_kept += kept.seats;
    blocks_kept += kept.blocks;
    time_kept += kept.step_time;
    share = std::max(share, largest_share(service_class));
    if (seats_kept > 0 && seats_kept >= seats) {
      return contradiction(before + "reserved_seats",
                           "the reserves of all classes come to " + std::to_string(seats_kept) +
                               " seats, must be less than scheduler.max_sequences, which is " + std::to_string(seats));
    }
    if (blocks_kept > kWhole)
      return contradiction(before + "reserved_blocks",
                           "the reserves of all classes come to more than 0.95 of the blocks");
    if (time_kept + share > kWhole) {
      return contradiction(before + (kept.step_time > 0.0 ? "reserved_step_time" : "min_share"),
                           "the reserved step time of all classes and the largest min_share come to more than 0.95");
    }
  }
  return {};
}

Status check_default_classes(const std::deque<route::ClassOptions>& classes) {
  for (const route::ClassOptions& service_class : classes) {
    const Tier tier = service_class.always.limits.tier;
    if ((service_class.name == route::kDefaultClass && tier != Tier::kRealtime) ||
        (service_class.name == route::kBatchClass && tier != Tier::kBatch)) {
      return contradiction("class." + service_class.name + ".tier",
                           "cannot change: requests that name a tier and no class belong here");
    }
  }
  return {};
}

Status check(const route::RouteOptions& route, const SchedulerOptions& sched) {
  if (Status sound = check_default_classes(route.classes); !sound) return sound;
  for (std::size_t i = 0; i < route.rules.size(); ++i) {
    if (Status sound = route::check_rule(route.rules[i]); !sound)
      return contradiction("route." + std::to_string(i + 1) + "." + sound.error().field, sound.error().message);
  }
  for (const route::ClassOptions& service_class : route.classes) {
    const std::string before = "class." + service_class.name + ".";
    if (Status sound = check(before, service_class.always); !sound) return sound;
    for (std::size_t i = 0; i < service_class.hours.size(); ++i) {
      const std::string hours = before + "hours." + std::to_string(i + 1) + ".";
      if (Status sound = route::check_hours(service_class.hours[i]); !sound)
        return contradiction(hours + sound.error().field, sound.error().message);
      if (Status sound = check(hours, service_class.hours[i].settings); !sound) return sound;
    }
  }
  return check_reserves(route.classes, sched.max_sequences);
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
  for (const auto& status : {check(config.engine), check(config.compute, config.engine.sched), check(config.http),
                             check(config.serve, config.http), check(config.auth, config.http.host),
                             check(config.route, config.engine.sched)}) {
    if (!status) return status;
  }
  return {};
}

}  // namespace takt::config
