#include "metrics/exposition.h"

#include <prometheus/text_serializer.h>

#include <algorithm>
#include <array>
#include <optional>
#include <sstream>
#include <utility>

#include "metrics/families.h"
#include "metrics/open_metrics.h"
#include "metrics/vllm_names.h"

namespace takt::metrics {
namespace {

using prometheus::MetricType;
using Labels = MetricLabels;

double number(std::uint64_t value) {
  return static_cast<double>(value);
}

Labels class_labels(const ClassCounts& counts) {
  return {{"service_class", counts.service_class}, {"tier", to_string(counts.tier)}};
}

Labels with(Labels labels, std::string name, std::string value) {
  labels.push_back({std::move(name), std::move(value)});
  return labels;
}

template <typename Value>
void per_class(Families& families, const Counts& counts, Value value) {
  for (const ClassCounts& one : counts.classes) families.value(value(one), class_labels(one));
}

template <typename Value>
void per_model(Families& families, const Counts& counts, Value value) {
  for (const ModelCounts& one : counts.models) families.value(value(one), {{"model", one.name}});
}

void add_requests(Families& families, const Counts& counts) {
  families.begin(MetricType::Counter, "takt_requests_started_total",
                 "Requests received: equals ended (all outcomes) + running + waiting at every scrape.");
  per_class(families, counts, [](const ClassCounts& c) { return number(c.started); });
  families.begin(MetricType::Counter, "takt_requests_ended_total",
                 "Requests over, by outcome: finished, failed (our fault), cancelled (by the client), refused (at the "
                 "door, or expired waiting).");
  for (const ClassCounts& c : counts.classes) {
    families.value(number(c.finished), with(class_labels(c), "outcome", "finished"));
    families.value(number(c.failed), with(class_labels(c), "outcome", "failed"));
    families.value(number(c.cancelled), with(class_labels(c), "outcome", "cancelled"));
    families.value(number(c.refused), with(class_labels(c), "outcome", "refused"));
  }
  families.begin(MetricType::Gauge, "takt_requests_running", "Requests admitted and not over.");
  per_class(families, counts, [](const ClassCounts& c) { return number(c.running); });
  families.begin(MetricType::Gauge, "takt_requests_waiting", "Requests accepted and not yet admitted.");
  per_class(families, counts, [](const ClassCounts& c) { return number(c.waiting); });
  families.begin(MetricType::Counter, "takt_requests_first_token_total", "Requests that got a first token.");
  per_class(families, counts, [](const ClassCounts& c) { return number(c.first_tokens); });
  families.begin(MetricType::Counter, "takt_requests_within_targets_total",
                 "Requests that met all latency targets of their class.");
  per_class(families, counts, [](const ClassCounts& c) { return number(c.goodput.met); });
  families.begin(MetricType::Counter, "takt_requests_cancelled_total",
                 "Requests cancelled, by the phase they were in.");
  for (std::size_t i = 0; i < counts.cancelled_by_phase.size(); ++i) {
    families.value(number(counts.cancelled_by_phase[i]), {{"phase", to_string(static_cast<RequestPhase>(i))}});
  }
  families.begin(MetricType::Counter, "takt_requests_refused_total",
                 "Requests refused at the door or expired in the queue, by reason.");
  for (const auto& [reason, count] : counts.refused_by_reason) {
    families.value(number(count), {{"reason", to_string(reason)}});
  }
}

void add_goodput(Families& families, const Counts& counts) {
  const auto per_window = [&](const char* name, const char* help, auto value) {
    families.begin(MetricType::Gauge, name, help);
    for (const ClassCounts& c : counts.classes) {
      for (std::size_t w = 0; w < kGoodputWindows.size(); ++w) {
        if (const auto figure = value(c.recent[w]))
          families.value(*figure, with(class_labels(c), "window", kGoodputWindows[w].name));
      }
    }
  };
  per_window("takt_goodput_requests_per_second", "Requests that met all targets of their class, of the last minutes.",
             [](const RecentGoodput& r) { return std::optional(r.goodput.requests_per_second(r.window)); });
  per_window("takt_goodput_tokens_per_second", "Tokens of requests that met all targets of their class.",
             [](const RecentGoodput& r) { return std::optional(r.goodput.tokens_per_second(r.window)); });
  per_window("takt_goodput_attainment_ratio",
             "Share of the offered requests that met all targets of their class; absent when none were offered.",
             [](const RecentGoodput& r) { return r.goodput.attainment(); });
}

void add_tenants(Families& families, const Counts& counts) {
  const auto per_tenant = [&](const char* name, const char* help, auto value) {
    families.begin(MetricType::Counter, name, help);
    for (const TenantCounts& t : counts.tenants) families.value(value(t), {{"tenant", t.tenant}});
  };
  per_tenant("takt_tenant_requests_total", "Requests received, by whom.",
             [](const TenantCounts& t) { return number(t.requests); });
  per_tenant("takt_tenant_refused_total", "Requests refused at the door, by whom.",
             [](const TenantCounts& t) { return number(t.refused); });
  per_tenant("takt_tenant_prompt_tokens_total", "Prompt tokens of admitted requests, by whom.",
             [](const TenantCounts& t) { return number(t.prompt_tokens); });
  per_tenant("takt_tenant_cached_prompt_tokens_total", "Of these, found in the prefix cache.",
             [](const TenantCounts& t) { return number(t.cached_tokens); });
  per_tenant("takt_tenant_generated_tokens_total", "Tokens sampled, for whom.",
             [](const TenantCounts& t) { return number(t.generated_tokens); });
  per_tenant("takt_tenant_waited_seconds_total", "Time that requests now over had waited, by whom.",
             [](const TenantCounts& t) { return to_seconds(t.waited); });
}

void add_queue(Families& families, const Counts& counts) {
  const auto by_tier = [&](auto value) {
    for (const Tier tier : {Tier::kRealtime, Tier::kBatch}) {
      std::uint64_t sum = 0;
      for (const ClassCounts& c : counts.classes) sum += c.tier == tier ? value(c) : 0;
      families.value(number(sum), {{"tier", to_string(tier)}});
    }
  };
  families.begin(MetricType::Gauge, "takt_queue_requests", "Requests waiting, by tier.");
  by_tier([](const ClassCounts& c) { return c.waiting; });
  families.begin(MetricType::Gauge, "takt_queue_tokens", "Prompt tokens of waiting requests, by tier.");
  by_tier([](const ClassCounts& c) { return c.waiting_tokens; });
  families.begin(MetricType::Counter, "takt_waited_seconds_total",
                 "Time that requests now over had waited, by reason.");
  for (std::size_t i = 0; i < counts.waited.size(); ++i) {
    families.value(to_seconds(counts.waited[i]), {{"reason", to_string(static_cast<WaitReason>(i))}});
  }
}

NamedExemplars named(const Exemplars& exemplars, const ExpositionOptions& options) {
  NamedExemplars result;
  for (const Exemplar& one : exemplars)
    result.push_back({one.is_set && options.request_name ? options.request_name(one.request) : "", one.value});
  return result;
}

void add_latencies(Families& families, const Counts& counts, const ExpositionOptions& options) {
  const auto histogram = [&](const char* name, const char* help, Histogram ClassCounts::*member) {
    families.begin(MetricType::Histogram, name, help);
    for (const ClassCounts& c : counts.classes) families.value(c.*member, class_labels(c));
  };
  const auto with_exemplars = [&](const char* name, const char* help, Histogram ClassCounts::*member,
                                  Exemplars ClassCounts::*exemplars) {
    families.begin(MetricType::Histogram, name, help);
    for (const ClassCounts& c : counts.classes) {
      families.value(c.*member, class_labels(c));
      families.exemplars(named(c.*exemplars, options));
    }
  };
  with_exemplars("takt_time_to_first_token_seconds", "First token minus arrival, per request with a first token.",
                 &ClassCounts::first_token, &ClassCounts::first_token_exemplars);
  histogram("takt_inter_token_latency_seconds", "Every gap between two tokens of a choice, as sampled.",
            &ClassCounts::token_gap);
  histogram("takt_time_per_output_token_seconds",
            "(last - first token) / (tokens - 1), per choice of two or more tokens.", &ClassCounts::per_token);
  with_exemplars("takt_request_duration_seconds", "End minus arrival, per accepted request.", &ClassCounts::duration,
                 &ClassCounts::duration_exemplars);
  histogram("takt_queue_wait_seconds", "From acceptance (in the queue) to admission, per admitted request.",
            &ClassCounts::queue_wait);
  families.begin(MetricType::Gauge, "takt_worst_token_gap_seconds",
                 "Longest time since the last token of any sequence that is generating now.");
  families.value(to_seconds(counts.worst_current_gap));
}

void add_tokens(Families& families, const Counts& counts) {
  families.begin(MetricType::Counter, "takt_prompt_tokens_total", "Prompt tokens of admitted requests.");
  per_class(families, counts, [](const ClassCounts& c) { return number(c.prompt_tokens); });
  families.begin(MetricType::Counter, "takt_cached_prompt_tokens_total", "Prompt tokens found in the prefix cache.");
  per_class(families, counts, [](const ClassCounts& c) { return number(c.cached_tokens); });
  families.begin(MetricType::Counter, "takt_prefix_missed_tokens_total",
                 "Prompt tokens not found in the prefix cache, by reason.");
  for (int i = 0; i < kPrefixMissCount; ++i) {
    std::uint64_t tokens = 0;
    for (const ClassCounts& c : counts.classes) tokens += c.missed_tokens[static_cast<std::size_t>(i)];
    families.value(number(tokens), {{"reason", to_string(static_cast<PrefixMiss>(i))}});
  }
  families.begin(MetricType::Counter, "takt_generated_tokens_total", "Tokens sampled.");
  per_class(families, counts, [](const ClassCounts& c) { return number(c.generated_tokens); });
}

void add_steps(Families& families, const Counts& counts, TimePoint now) {
  families.begin(MetricType::Counter, "takt_steps_total", "Steps committed, by what they held.");
  constexpr std::array kPhases{"prefill", "decode", "mixed"};
  for (const ModelCounts& m : counts.models) {
    for (std::size_t i = 0; i < kStepPhaseCount; ++i) {
      families.value(number(m.steps[i]), {{"model", m.name}, {"phase", kPhases[i]}});
    }
  }
  families.begin(MetricType::Counter, "takt_step_tokens_total", "Tokens computed, by phase.");
  for (const ModelCounts& m : counts.models) {
    families.value(number(m.prefill_tokens), {{"model", m.name}, {"phase", "prefill"}});
    families.value(number(m.decode_tokens), {{"model", m.name}, {"phase", "decode"}});
  }
  families.begin(MetricType::Counter, "takt_padding_rows_total", "Rows computed for nobody, as static batches pad.");
  per_model(families, counts, [](const ModelCounts& m) { return number(m.padding_rows); });
  families.begin(MetricType::Gauge, "takt_admission_share",
                 "How far admission is shrunk after too many preemptions; 1: not at all.");
  for (const ModelCounts& m : counts.models) {
    families.value(m.pressure.realtime_share, {{"model", m.name}, {"tier", "realtime"}});
    families.value(m.pressure.batch_share, {{"model", m.name}, {"tier", "batch"}});
  }
  families.begin(MetricType::Counter, "takt_breaker_trips_total",
                 "Times that admission was shrunk because preemptions came too fast.");
  per_model(families, counts, [](const ModelCounts& m) { return number(m.pressure.trips); });
  const auto histogram = [&](const char* name, const char* help, Histogram ModelCounts::*member) {
    families.begin(MetricType::Histogram, name, help);
    for (const ModelCounts& m : counts.models) families.value(m.*member, {{"model", m.name}});
  };
  histogram("takt_step_sequences", "Sequences in a step: how full its batch was.", &ModelCounts::step_sequences);
  histogram("takt_step_duration_seconds", "Measured duration of a step.", &ModelCounts::step_duration);
  histogram("takt_step_time_ratio", "Measured by predicted duration of a step.", &ModelCounts::measured_by_predicted);
  families.begin(MetricType::Counter, "takt_beat_overruns_total",
                 "Steps with running rows that were planned to last longer than their budget.");
  per_model(families, counts, [](const ModelCounts& m) { return number(m.beat_overruns); });
  families.begin(MetricType::Counter, "takt_steps_over_budget_total", "Steps that took longer than their budget.");
  per_model(families, counts, [](const ModelCounts& m) { return number(m.steps_over_budget); });
  families.begin(MetricType::Counter, "takt_failed_steps_total", "Steps that failed.");
  for (const ModelCounts& m : counts.models) {
    families.value(number(m.failed_steps_retryable), {{"model", m.name}, {"kind", "retryable"}});
    families.value(number(m.failed_steps_fatal), {{"model", m.name}, {"kind", "fatal"}});
  }
  families.begin(MetricType::Counter, "takt_busy_seconds_total", "Time spent in steps.");
  per_model(families, counts, [](const ModelCounts& m) { return to_seconds(m.busy); });
  families.begin(MetricType::Gauge, "takt_busy_ratio", "Share of the last minute spent in steps.");
  per_model(families, counts, [&](const ModelCounts& m) { return m.last_minute.share(now); });
  families.begin(MetricType::Counter, "takt_idle_while_work_waits_seconds_total",
                 "Time without a step while requests waited, by reason.");
  for (const ModelCounts& m : counts.models) {
    for (std::size_t i = 0; i < m.idle_while_waiting.size(); ++i) {
      families.value(to_seconds(m.idle_while_waiting[i]),
                     {{"model", m.name}, {"reason", to_string(static_cast<WaitReason>(i))}});
    }
  }
}

// Prometheus divides: rate of what was done by what the machine can do.
void add_work(Families& families, const Counts& counts) {
  const auto per_known_model = [&](MetricType type, const char* name, const char* help, auto value) {
    families.begin(type, name, help);
    for (const ModelCounts& m : counts.models) {
      if (m.work.bytes_per_step > 0.0) families.value(value(m), {{"model", m.name}});
    }
  };
  const auto steps_of = [](const ModelCounts& m) { return number(m.steps[0] + m.steps[1] + m.steps[2]); };
  per_known_model(MetricType::Counter, "takt_matrix_read_bytes_total", "Bytes of matrices that steps had to read.",
                  [&](const ModelCounts& m) { return steps_of(m) * m.work.bytes_per_step; });
  per_known_model(MetricType::Counter, "takt_matrix_products_total",
                  "Multiply-accumulates of matrices that steps had to do.", [](const ModelCounts& m) {
                    return number(m.prefill_tokens + m.decode_tokens + m.padding_rows) * m.work.products_per_row +
                           number(m.logits_rows) * m.work.products_per_logits;
                  });
  per_known_model(MetricType::Gauge, "takt_machine_read_bytes_per_second",
                  "Bytes per second that the model's threads could read from memory, measured at start.",
                  [](const ModelCounts& m) { return m.work.peak_bytes_per_second; });
  per_known_model(MetricType::Gauge, "takt_machine_products_per_second",
                  "8-bit multiply-accumulates per second that its threads could do, measured at start.",
                  [](const ModelCounts& m) { return m.work.peak_products_per_second; });
}

void add_memory(Families& families, const Counts& counts, std::span<const KvBlocks> memory) {
  const auto blocks_of = [&](std::size_t model) { return model < memory.size() ? memory[model] : KvBlocks{}; };
  families.begin(MetricType::Gauge, "takt_kv_blocks",
                 "KV blocks by state: owned (by sequences), cached (reusable prefixes), free.");
  for (std::size_t i = 0; i < counts.models.size(); ++i) {
    const std::string& name = counts.models[i].name;
    const KvBlocks blocks = blocks_of(i);
    families.value(blocks.owned, {{"model", name}, {"state", "owned"}});
    families.value(blocks.cached, {{"model", name}, {"state", "cached"}});
    families.value(blocks.free, {{"model", name}, {"state", "free"}});
  }
  families.begin(MetricType::Gauge, "takt_kv_owner_blocks",
                 "KV blocks by whom they are for: their sum is takt_kv_blocks_capacity.");
  for (std::size_t i = 0; i < counts.models.size(); ++i) {
    const KvOwners owners = blocks_of(i).owners;
    for (const auto& [owner, blocks] : {std::pair{"running", owners.running}, std::pair{"reserve", owners.reserve},
                                        std::pair{"linger", owners.linger}, std::pair{"pinned", owners.pinned},
                                        std::pair{"cache_realtime", owners.cache_realtime},
                                        std::pair{"cache_batch", owners.cache_batch}, std::pair{"free", owners.free}})
      families.value(blocks, {{"model", counts.models[i].name}, {"owner", owner}});
  }
  families.begin(MetricType::Gauge, "takt_kv_blocks_capacity", "KV blocks of the pool.");
  for (std::size_t i = 0; i < counts.models.size(); ++i) {
    families.value(blocks_of(i).total, {{"model", counts.models[i].name}});
  }
  families.begin(MetricType::Gauge, "takt_kv_pinned_blocks",
                 "KV blocks of prefixes that are kept before others, within kv.pinned_share.");
  for (std::size_t i = 0; i < counts.models.size(); ++i) {
    families.value(blocks_of(i).pinned, {{"model", counts.models[i].name}});
  }
  families.begin(MetricType::Gauge, "takt_kv_reserved_unused_tokens",
                 "Positions that running sequences hold blocks for and do not use.");
  for (std::size_t i = 0; i < counts.models.size(); ++i) {
    families.value(number(blocks_of(i).reserved_unused_tokens), {{"model", counts.models[i].name}});
  }
  families.begin(MetricType::Counter, "takt_preemptions_total",
                 "Running sequences that gave up blocks or their seat so that others could run, by what became of "
                 "their tokens: recompute, swap, or seat (they kept all).");
  for (const ModelCounts& m : counts.models) {
    families.value(number(m.preemptions_recompute), {{"model", m.name}, {"kind", "recompute"}});
    families.value(number(m.preemptions_swap), {{"model", m.name}, {"kind", "swap"}});
    families.value(number(m.preemptions_seat), {{"model", m.name}, {"kind", "seat"}});
  }
  families.begin(MetricType::Counter, "takt_preempted_tokens_total",
                 "Tokens whose KV was given up and must be computed again.");
  per_model(families, counts, [](const ModelCounts& m) { return number(m.preempted_tokens); });
}

void add_windows(Families& families, const Counts& counts) {
  families.begin(MetricType::Counter, "takt_window_held_sequences_total",
                 "Sequences that a batch window held back before they started.");
  per_model(families, counts, [](const ModelCounts& m) { return number(m.window.held); });
  families.begin(MetricType::Counter, "takt_window_held_seconds_total", "Time that they waited for it: its cost.");
  per_model(families, counts, [](const ModelCounts& m) { return to_seconds(m.window.waited); });
  families.begin(MetricType::Counter, "takt_window_added_rows_total",
                 "Of them, those that started in one step with another one that was held: its gain.");
  per_model(families, counts, [](const ModelCounts& m) { return number(m.window.added); });
}

void add_energy(Families& families, std::span<const EnergyReading> energy, std::span<const EnergyReading> idle) {
  families.begin(MetricType::Counter, "takt_energy_joules_total",
                 "Energy that the whole machine used since the start, by what the kernel counts; absent where it does "
                 "not tell.");
  for (const EnergyReading& reading : energy) families.value(reading.joules, {{"zone", reading.zone}});
  families.begin(MetricType::Counter, "takt_energy_idle_joules_total",
                 "Of it, used between two scrapes without any request or step.");
  for (const EnergyReading& reading : idle) families.value(reading.joules, {{"zone", reading.zone}});
}

void add_swap(Families& families, const Counts& counts, std::span<const KvBlocks> memory) {
  const auto per_arena = [&](auto add) {
    for (std::size_t i = 0; i < counts.models.size(); ++i)
      add(counts.models[i].name, i < memory.size() ? memory[i].swap : SwapArena{});
  };
  families.begin(MetricType::Gauge, "takt_swap_arena_bytes", "Size of the swap arena; 0: there is none.");
  per_arena([&](const std::string& name, const SwapArena& a) { families.value(number(a.bytes), {{"model", name}}); });
  families.begin(MetricType::Gauge, "takt_swap_used_bytes",
                 "Of it, held by sequences that are swapped out, or on its way.");
  per_arena([&](const std::string& name, const SwapArena& a) {
    families.value(number(a.used_bytes), {{"model", name}});
  });
  families.begin(MetricType::Counter, "takt_swap_bytes_total", "Bytes copied to the swap arena (out) and back (in).");
  per_arena([&](const std::string& name, const SwapArena& a) {
    families.value(number(a.bytes_out), {{"model", name}, {"direction", "out"}});
    families.value(number(a.bytes_in), {{"model", name}, {"direction", "in"}});
  });
  families.begin(MetricType::Counter, "takt_swap_seconds_total", "Time that these transfers took, beside the steps.");
  per_arena([&](const std::string& name, const SwapArena& a) {
    families.value(to_seconds(a.time_out), {{"model", name}, {"direction", "out"}});
    families.value(to_seconds(a.time_in), {{"model", name}, {"direction", "in"}});
  });
  families.begin(MetricType::Counter, "takt_swap_failures_total",
                 "Transfers that failed, came back changed (in) or not at all.");
  per_arena([&](const std::string& name, const SwapArena& a) {
    families.value(number(a.failed_writes), {{"model", name}, {"direction", "out"}});
    families.value(number(a.failed_reads), {{"model", name}, {"direction", "in"}});
  });
  families.begin(MetricType::Counter, "takt_swaps_lost_total",
                 "Swapped sequences that had to be computed again after all.");
  per_model(families, counts, [](const ModelCounts& m) { return number(m.swaps_lost); });
}

void add_captured(Families& families, const CapturedRequests& captured) {
  families.begin(MetricType::Counter, "takt_capture_requests_total", "Requests that the capture has written down.");
  families.value(number(captured.written));
  families.begin(MetricType::Counter, "takt_capture_lost_requests_total",
                 "Requests that the capture could not keep: the disk was too slow (queue) or took nothing (disk).");
  families.value(number(captured.lost_to_queue), {{"reason", "queue"}});
  families.value(number(captured.lost_to_disk), {{"reason", "disk"}});
}

void add_config(Families& families, const ConfigFacts& config) {
  families.begin(MetricType::Gauge, "takt_config_generation",
                 "Configurations that were in force since the start, this one included.");
  families.value(number(config.generation), {});
  families.begin(MetricType::Gauge, "takt_config_last_change_applied",
                 "1: the last change that was asked for (SIGHUP, POST /admin/config) is in force; 0: it was refused.");
  families.value(config.last_change_applied ? 1.0 : 0.0, {});
  families.begin(MetricType::Gauge, "takt_config_last_change_timestamp_seconds",
                 "When that was, in seconds since 1970; before any change the start.");
  families.value(static_cast<double>(config.last_change_unix), {});
}

}  // namespace

const char* content_type(ExpositionFormat format) {
  return format == ExpositionFormat::kOpenMetrics ? kOpenMetricsContentType
                                                  : "text/plain; version=0.0.4; charset=utf-8";
}

std::string exposition(const Counts& counts, const Readings& readings, const ExpositionOptions& options,
                       const Moment& moment) {
  Families families;
  families.begin(MetricType::Gauge, "takt_build_info", "Always 1; the labels say what is running.");
  const BuildInfo& build = options.build;
  families.value(1.0, {{"version", build.version}, {"numerics", build.numerics}, {"isa", build.isa}});
  add_config(families, readings.server.config);
  add_requests(families, counts);
  add_goodput(families, counts);
  add_tenants(families, counts);
  add_queue(families, counts);
  add_latencies(families, counts, options);
  add_tokens(families, counts);
  add_steps(families, counts, moment.now);
  add_windows(families, counts);
  add_work(families, counts);
  add_memory(families, counts, readings.memory);
  add_swap(families, counts, readings.memory);
  add_energy(families, readings.energy, readings.idle_energy);
  if (readings.server.captured) add_captured(families, *readings.server.captured);
  if (options.vllm_names) add_vllm_names(families, counts, readings.memory);
  if (moment.format == ExpositionFormat::kOpenMetrics) return to_open_metrics(families);
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, families.all());
  return std::move(out).str();
}

}  // namespace takt::metrics
