// What the engine is asked to do. Everything here is decided before the engine sees it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "core/ids.h"
#include "core/sampling_params.h"

namespace takt {

enum class Tier : std::uint8_t { kRealtime, kBatch };
const char* to_string(Tier tier);

// Who asks and for what: kept with a request from the door to the metrics.
struct RequestLabels {
  std::string application;
  std::string service_class = "chat";
  std::string tenant;
  std::string user;
  Tier tier = Tier::kRealtime;
};

// What the person who waits was promised.
struct ServiceTargets {
  Duration ttft = std::chrono::seconds(1);
  Duration itl = std::chrono::milliseconds(100);
  Duration max_queue_wait = std::chrono::seconds(30);
  Duration completion{0};             // of the whole answer; 0: none was promised
  Duration window = Duration::max();  // longest time that a batch window may hold it back
  // Leading tokens of its prompt whose KV stays in the prefix cache before all else (KvOptions::pinned_share).
  std::uint32_t pinned_prefix_tokens = 0;
};

struct EngineRequest {
  RequestId id;
  ModelIndex model;
  RequestLabels labels;
  ServiceTargets targets;
  TimePoint arrival;
  ClassIndex service_class = kNoClass;  // of labels.service_class, for the scheduler
  double weight = 1.0;                  // of the tenant among others of its class; above 0
  Duration deadline{0};                 // of the first token, after arrival; 0: targets.ttft

  std::vector<TokenId> prompt;              // at least one token
  std::uint32_t choices = 1;                // `n`: sequences over one prompt
  std::optional<std::uint32_t> max_tokens;  // empty: what context and pool leave
  std::uint32_t min_tokens = 0;             // end tokens are not sampled before
  std::vector<TokenId>
      end_tokens;                // the model's end-of-generation ids and the caller's stop ids; empty with ignore_eos
  bool prompt_logprobs = false;  // logprob of every prompt token but the first (echo)
  SamplingParams sampling;       // choice i draws with derive_seed(seed, i)

  std::uint64_t cache_salt = 0;  // prefix blocks are shared only between equal salts
  bool use_prefix_cache = true;
};

// The seed of choice `index` of a request: its own for index 0, unrelated ones for the rest.
std::uint64_t derive_seed(std::uint64_t seed, std::uint32_t index);

}  // namespace takt
