#include "exec/cpu/speed_probe.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace takt {
namespace {

// As half floats, as floats and as int8 with such scales a small positive number.
constexpr std::byte kFilling{0x1c};
constexpr std::uint32_t kTokenStride = 7919;

}  // namespace

// Sequences that each own a run of KV blocks.
class SpeedProbe::Streams {
 public:
  Streams(Executor& executor, std::uint32_t count, std::uint32_t blocks_each) : executor_(executor) {
    for (std::uint32_t s = 0; s < count; ++s) {
      std::vector<BlockId>& table = tables_.emplace_back();
      for (std::uint32_t b = 0; b < blocks_each; ++b) table.emplace_back(s * blocks_each + b);
    }
    spans_.assign(tables_.begin(), tables_.end());
  }
  ~Streams() {
    for (std::uint32_t s = 0; s < open_; ++s) executor_.close(SequenceId(s + 1));
  }
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;

  Status open() {
    for (; open_ < tables_.size(); ++open_) {
      SequenceSpec spec;
      spec.id = SequenceId(open_ + 1);
      spec.sampling.temperature = 0.0F;
      if (Status status = executor_.open(std::move(spec)); !status) return status;
    }
    return {};
  }

  // Every stream computes `count` tokens from `position` on.
  Result<Duration> step(std::uint32_t position, std::uint32_t count, bool samples) {
    const std::uint32_t vocabulary = executor_.capabilities().vocab_size;
    tokens_.resize(count);
    for (std::uint32_t i = 0; i < count; ++i)
      tokens_[i] = static_cast<TokenId>(std::uint64_t{position + i} * kTokenStride % vocabulary);
    entries_.assign(tables_.size(), {});
    for (std::size_t s = 0; s < tables_.size(); ++s) {
      entries_[s].sequence = SequenceId(s + 1);
      entries_[s].first_position = position;
      entries_[s].tokens = tokens_;
      entries_[s].tables = std::span(&spans_[s], 1);
      entries_[s].samples = samples;
    }
    const auto ticket = executor_.submit({StepId(1), entries_});
    if (!ticket) return ticket.error();
    const auto result = executor_.collect(*ticket);
    if (!result) return result.error();
    return result->measured;
  }

 private:
  Executor& executor_;
  std::vector<std::vector<BlockId>> tables_;
  std::vector<std::span<const BlockId>> spans_;
  std::vector<TokenId> tokens_;
  std::vector<BoundEntry> entries_;
  std::uint32_t open_ = 0;
};

Status SpeedProbe::fill_blocks(std::uint32_t count) {
  const std::vector<std::byte> bytes(executor_.capabilities().groups[0].block_bytes, kFilling);
  for (; filled_blocks_ < count; ++filled_blocks_) {
    if (Status status = executor_.write_block(GroupId(0), BlockId(filled_blocks_), bytes); !status) return status;
  }
  return {};
}

Result<Duration> SpeedProbe::best_round(std::uint32_t streams, std::uint32_t tokens_each, int rounds,
                                        const Round& round) {
  const ExecutorCapabilities& can = executor_.capabilities();
  const auto limited = [](const char* field, std::uint64_t value, std::uint64_t most) -> Status {
    if (value >= 1 && value <= most) return {};
    return Error::invalid(field, std::to_string(value) + " is not 1 to " + std::to_string(most));
  };
  if (Status status = limited("streams", streams, std::min(can.max_sequences, can.max_step_tokens)); !status)
    return status.error();
  if (Status status = limited("tokens", tokens_each, can.context_tokens); !status) return status.error();
  const KvGroupInfo& group = can.groups[0];
  const std::uint32_t blocks_each = (tokens_each + group.block_tokens - 1) / group.block_tokens;
  const std::uint64_t blocks = std::uint64_t{blocks_each} * streams;
  if (blocks > group.block_count) {
    return Error{ErrorCode::kResourceExhausted,
                 std::to_string(streams) + " streams of " + std::to_string(tokens_each) + " tokens need " +
                     std::to_string(blocks) + " KV blocks, there are " + std::to_string(group.block_count),
                 "streams"};
  }
  if (Status status = fill_blocks(static_cast<std::uint32_t>(blocks)); !status) return status.error();
  Duration best = Duration::max();
  for (int i = 0; i < rounds; ++i) {
    Streams run(executor_, streams, blocks_each);
    if (Status status = run.open(); !status) return status.error();
    const auto time = round(run);
    if (!time) return time.error();
    best = std::min(best, *time);
  }
  return best;
}

Result<double> SpeedProbe::decode(const DecodeLoad& load, int rounds) {
  if (load.steps < 1) return Error::invalid("steps", "must be at least 1");
  const auto time =
      best_round(load.streams, load.context_tokens + load.steps, rounds, [&](Streams& run) -> Result<Duration> {
        Duration sum{0};
        for (std::uint32_t i = 0; i < load.steps; ++i) {
          const auto step = run.step(load.context_tokens + i, 1, true);
          if (!step) return step.error();
          sum += *step;
        }
        return sum;
      });
  if (!time) return time.error();
  return load.streams * load.steps / to_seconds(*time);
}

Result<double> SpeedProbe::prefill(const PrefillLoad& load, int rounds) {
  const std::uint32_t most = executor_.capabilities().max_step_tokens;
  if (load.chunk_tokens < 1 || load.chunk_tokens > most)
    return Error::invalid("chunk", std::to_string(load.chunk_tokens) + " is not 1 to " + std::to_string(most));
  const auto time = best_round(1, load.tokens, rounds, [&](Streams& run) -> Result<Duration> {
    Duration sum{0};
    for (std::uint32_t position = 0; position < load.tokens; position += load.chunk_tokens) {
      const std::uint32_t count = std::min(load.chunk_tokens, load.tokens - position);
      const auto step = run.step(position, count, position + count == load.tokens);
      if (!step) return step.error();
      sum += *step;
    }
    return sum;
  });
  if (!time) return time.error();
  return load.tokens / to_seconds(*time);
}

Result<Duration> SpeedProbe::step(const StepLoad& load) {
  const std::uint32_t most = executor_.capabilities().max_step_tokens;
  if (load.tokens < 1 || load.tokens > most)
    return Error::invalid("tokens", std::to_string(load.tokens) + " is not 1 to " + std::to_string(most));
  return best_round(1, load.position + load.tokens, 1,
                    [&](Streams& run) { return run.step(load.position, load.tokens, load.tokens == 1); });
}

}  // namespace takt
