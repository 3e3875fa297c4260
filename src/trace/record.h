// One request of a trace: what was asked for, when, and what became of it. What a source does not tell is empty, never
// a guess: 0 is a value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "core/finish_reason.h"
#include "core/request.h"

namespace takt::trace {

enum class Work : std::uint8_t { kGenerate, kEmbed };
enum class SamplingKind : std::uint8_t { kUnknown, kGreedy, kRandom };

// The four of /metrics, so that a capture and the counters reconcile. Who expired while waiting was refused.
enum class Outcome : std::uint8_t { kUnknown, kFinished, kFailed, kCancelled, kRefused };

const char* to_string(Work work);
const char* to_string(SamplingKind kind);
const char* to_string(Outcome outcome);

// What the class of the request promised.
struct Targets {
  std::optional<Duration> ttft;
  std::optional<Duration> itl;
  std::optional<Duration> completion;
  std::optional<Duration> queue_wait;
  bool operator==(const Targets&) const = default;
};

// Which tokens a prompt shares with others, without the tokens. hashes[i] names the content of the prompt's first
// (i + 1) * block_tokens tokens (the last block may be cut by the prompt's end), so equal leading hashes are a shared
// prefix. What lies behind the last hash is shared with nobody.
struct PromptBlocks {
  std::uint32_t block_tokens = 0;     // 0: the source has no hashes, and nothing is shared
  std::vector<std::uint64_t> hashes;  // chained and, in captures, keyed
  bool operator==(const PromptBlocks&) const = default;
};

// All after the arrival.
struct Timings {
  std::optional<Duration> queued;     // accepted by the engine
  std::optional<Duration> scheduled;  // first computed
  std::optional<Duration> first_token;
  std::optional<Duration> last_token;
  std::optional<Duration> ended;
  std::optional<Duration> cancelled;  // the caller went away or cancelled
  bool operator==(const Timings&) const = default;
};

struct Record {
  std::uint64_t request = 0;  // the server's id; 0: not recorded

  // After the trace's origin (Reader::origin), by a monotonic clock where the source had one. May be below 0 and below
  // the record's before: see sorted_reader.h. 0 where the source has no instants (Origin::has_arrivals).
  Duration arrival{0};
  std::optional<std::int64_t> wall_nanoseconds;  // since 1970, of the arrival

  // Names, or keyed hashes of them. Empty: not recorded.
  std::string application;
  std::string tenant;
  std::string user;
  std::string service_class;
  std::string task;
  std::string model;
  std::optional<Tier> tier;

  Targets targets;
  std::optional<Duration> deadline;  // of the first token, as the caller asked

  Work work = Work::kGenerate;
  SamplingKind sampling = SamplingKind::kUnknown;
  std::optional<bool> stream;
  std::uint32_t choices = 1;
  std::optional<std::uint32_t> max_tokens;  // as the caller asked

  std::uint32_t prompt_tokens = 0;
  std::optional<std::uint32_t> cached_tokens;
  std::uint32_t output_tokens = 0;      // of all choices
  std::optional<std::uint32_t> chunks;  // steps that computed its prompt
  std::optional<std::uint32_t> preemptions;
  PromptBlocks blocks;

  // A conversation. The think time lies between the end of the parent's answer and this arrival.
  std::string session;
  std::optional<std::uint32_t> turn;    // 0 for the first
  std::optional<std::uint64_t> parent;  // its `request`
  std::optional<Duration> think_time;

  Outcome outcome = Outcome::kUnknown;
  std::string error;  // the kind, e.g. "unavailable"; of failed and refused ones
  std::optional<FinishReason> finish;
  Timings timings;

  // Only where capturing text was asked for.
  std::optional<std::string> prompt_text;
  std::optional<std::string> answer_text;

  bool operator==(const Record&) const = default;
};

}  // namespace takt::trace
