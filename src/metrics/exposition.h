// Counts as Prometheus text (exposition format 0.0.4) or OpenMetrics text, which also has exemplars.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "base/clock.h"
#include "metrics/counts.h"
#include "metrics/energy_meter.h"

namespace takt::metrics {

struct BuildInfo {
  std::string version;
  std::string numerics;
  std::string isa;
};

struct ExpositionOptions {
  BuildInfo build;
  bool vllm_names = false;                               // also under the names of vllm_names.h
  std::function<std::string(RequestId)> request_name{};  // of exemplars; empty: there are none
};

enum class ExpositionFormat : std::uint8_t { kPrometheus, kOpenMetrics };
const char* content_type(ExpositionFormat format);

// A model's KV pool at the moment of the scrape. Asked for, not counted from steps: blocks also become free between
// steps.
// The swap arena of a model; all 0 where there is none. Counts are since the start.
struct SwapArena {
  std::uint64_t bytes = 0;
  std::uint64_t used_bytes = 0;
  std::uint64_t bytes_out = 0;
  std::uint64_t bytes_in = 0;
  Duration time_out{0};
  Duration time_in{0};
  std::uint64_t failed_writes = 0;
  std::uint64_t failed_reads = 0;
};

// Who has the blocks of a pool; together they are all of it.
struct KvOwners {
  std::uint32_t running = 0;         // hold tokens of sequences, those that wait after a preemption included
  std::uint32_t reserve = 0;         // of running sequences, behind all their tokens
  std::uint32_t linger = 0;          // the prefix cache: of turns that have just ended
  std::uint32_t pinned = 0;          // found often or pinned by name
  std::uint32_t cache_realtime = 0;  // the rest of it, by the tier of who used it
  std::uint32_t cache_batch = 0;
  std::uint32_t free = 0;
};

struct KvBlocks {
  std::uint32_t total = 0;
  std::uint32_t owned = 0;   // by sequences
  std::uint32_t cached = 0;  // by nobody, reusable prefixes
  std::uint32_t free = 0;
  SwapArena swap;
  std::uint32_t pinned = 0;                  // of the first two, kept before others
  std::uint64_t reserved_unused_tokens = 0;  // positions that running sequences hold blocks for and do not use
  KvOwners owners;
};

// How the configuration came to be what it is.
struct ConfigFacts {
  std::uint64_t generation = 1;       // grows with every change that was applied
  bool last_change_applied = true;    // false: it was refused, and the one before holds
  std::int64_t last_change_unix = 0;  // of the last change that was asked for; before any, the start
};

// What a capture has kept of the requests that ended, and what it could not keep.
struct CapturedRequests {
  std::uint64_t written = 0;
  std::uint64_t lost_to_queue = 0;
  std::uint64_t lost_to_disk = 0;
};

struct ServerState {
  ConfigFacts config;
  std::optional<CapturedRequests> captured;  // empty: nothing is captured
};

// What is read at the moment of the scrape.
struct Readings {
  std::span<const KvBlocks> memory;  // index = ModelIndex; as many as counts.models
  std::span<const EnergyReading> energy;
  ServerState server{};
  std::span<const EnergyReading> idle_energy{};  // of `energy`, while there was nothing to do
};

struct Moment {
  TimePoint now;
  ExpositionFormat format = ExpositionFormat::kPrometheus;
};

std::string exposition(const Counts& counts, const Readings& readings, const ExpositionOptions& options,
                       const Moment& moment);

}  // namespace takt::metrics
