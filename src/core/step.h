// The step: what is planned, what the executor sees, what comes back. Ids and numbers only.
//
// A sequence has known tokens (prompt and generated), computed tokens (their KV is in memory) and, inside a plan,
// scheduled tokens: a step hands out tokens so that computed catches up with known. Prefill, decode, a prefix hit and
// the way back after preemption are the same rule.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "core/ids.h"
#include "core/request.h"
#include "core/wait_reason.h"

namespace takt {

enum class EntryKind : std::uint8_t { kGenerate, kEmbed };

struct PlanEntry {
  SequenceId sequence;
  EntryKind kind = EntryKind::kGenerate;
  std::uint32_t first_position = 0;  // = computed tokens of the sequence
  std::uint32_t token_count = 0;     // scheduled tokens, at least 1
  bool samples = false;              // the last scheduled token is the last known one: its row is sampled
  bool admits = false;               // the sequence enters with this step: it leaves the queue when the step commits
  std::uint32_t cover_tokens =
      0;  // its block tables must reach so far: at least first_position + token_count; a whole prompt on admission
};

// What becomes of computed tokens whose blocks are given up.
enum class PreemptionKind : std::uint8_t {
  kRecompute,  // they are computed again
  kSwap,       // they are copied to the swap arena first, and back later
};

// Tail blocks given up so that others can run: `computed` falls back to `keep_tokens`, and the sequence waits to
// resume. Drops stand even when the step fails: what was given up may be overwritten by then. One that gives up
// computed tokens by kRecompute also gives up what the sequence has in the arena.
struct PlanDrop {
  SequenceId sequence;
  std::uint32_t keep_tokens = 0;
  Tier in_favour_of = Tier::kRealtime;  // tier of the sequence that needed the blocks
  PreemptionKind kind = PreemptionKind::kRecompute;
};

// Pages of a waiting sequence are copied back from the arena: its tables reach `cover_tokens` from then on, and
// `computed` grows. Stands even when the step fails, as drops do.
struct PlanSwapIn {
  SequenceId sequence;
  std::uint32_t computed = 0;  // afterwards
  std::uint32_t cover_tokens = 0;
};

enum class QueueKind : std::uint8_t {
  kUnstarted,  // accepted, not admitted
  kResuming,   // admitted before: preempted, or a sibling whose prompt is computed
  kSiblings,   // wait for the first choice to compute the shared prompt
};

struct QueueWait {
  Tier tier = Tier::kRealtime;
  QueueKind queue = QueueKind::kUnstarted;
  WaitReason reason = WaitReason::kNone;
  std::uint32_t requests = 0;           // sequences that got nothing in this step
  ClassIndex service_class = kNoClass;  // of unstarted ones: every class has a queue of its own
};

// How far admission is shrunk after preemptions came too fast (the cascade breaker). Shares of the seats in use when it
// tripped, 1: not at all.
struct AdmissionPressure {
  double realtime_share = 1.0;
  double batch_share = 1.0;
  std::uint32_t preemptions_last_minute = 0;  // of running sequences for want of blocks
  std::uint64_t trips = 0;                    // since the start

  bool shrunk() const { return realtime_share < 1.0 || batch_share < 1.0; }
};

// What a plan costs, in the terms the step-time model knows.
struct StepFeatures {
  std::uint32_t tokens = 0;              // rows of the step: prefill, decode and padding together
  std::uint32_t decode_rows = 0;         // of these, single rows of running sequences
  std::uint32_t padding_rows = 0;        // of these, computed for nobody: a static batch pads
  std::uint32_t logits_rows = 0;         // rows that want logits
  std::uint64_t attended_positions = 0;  // sum over rows of the positions each attends to
  std::uint32_t swapped_blocks = 0;      // copied out or back before its rows are computed
};

// Positions attended to by `count` rows that start at `first`: row p sees p + 1 positions.
inline std::uint64_t attended_by(std::uint32_t first, std::uint32_t count) {
  return std::uint64_t{count} * first + std::uint64_t{count} * (std::uint64_t{count} + 1) / 2;
}

struct StepPlan {
  StepId id;
  ModelIndex model;
  std::vector<PlanEntry> entries;    // in the order of the step
  std::vector<PlanDrop> drops;       // applied before the entries
  std::vector<PlanSwapIn> swap_ins;  // after the drops, before the entries
  std::vector<SequenceId> fetches;   // whose pages shall be read ahead from the arena, most urgent first
  std::vector<QueueWait> waits;
  AdmissionPressure pressure;
  StepFeatures features;
  Duration predicted{0};
  Duration budget{0};         // what the step was allowed to take
  bool beat_overrun = false;  // it has decode rows and needs longer than the budget

  bool empty() const { return entries.empty() && drops.empty() && swap_ins.empty(); }
};

// What the executor sees: the plan's entries with their tokens and block tables. All spans live until collect() has
// returned.
struct BoundEntry {
  SequenceId sequence;
  EntryKind kind = EntryKind::kGenerate;
  std::uint32_t first_position = 0;
  std::span<const TokenId> tokens;                   // inputs at first_position, first_position + 1, ...
  std::span<const std::span<const BlockId>> tables;  // one table per KV group; block i holds positions [i*B, (i+1)*B)
  bool samples = false;                              // sample from the last row
  bool suppress_end_tokens = false;                  // min_tokens not reached: end tokens get probability 0
  std::span<const TokenId> prompt_targets;           // empty, or per row the token whose logprob is wanted (-1: none)
};

struct BoundStep {
  StepId id;
  std::span<const BoundEntry> entries;
  std::uint32_t padding_rows = 0;  // rows that go through every matrix product and belong to nobody
};

struct TokenLogprob {
  TokenId token = 0;
  float logprob = 0.0F;  // natural log, over the whole vocabulary, of the raw logits (before penalties and filters)
};

enum class EntryOutcome : std::uint8_t {
  kComputed,    // the rows are computed, nothing was to be sampled
  kSampled,     // `sampled` is valid
  kNotSampled,  // the rows are computed but the row was left unsampled (a late mask): feed the last token again
  kFailed,      // `error`: this sequence cannot go on
};

struct SampledToken {
  TokenId token = 0;
  float logprob = 0.0F;
  std::vector<TokenLogprob> top;  // top_logprobs best, best first
};

struct PromptLogprob {
  TokenId token = 0;
  float logprob = 0.0F;
  std::vector<TokenLogprob> top;
};

struct EntryResult {
  SequenceId sequence;
  EntryOutcome outcome = EntryOutcome::kComputed;
  SampledToken sampled;
  std::vector<PromptLogprob> prompt_logprobs;  // one per row with a target, in order
  std::vector<float> embedding;                // kEmbed only
  Error error;
};

struct StepResult {
  StepId id;
  std::vector<EntryResult> entries;  // in the order of the BoundStep
  Duration measured{0};
};

}  // namespace takt
