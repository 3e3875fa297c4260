#include "exec/fake/fake_executor.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>

#include "exec/fake/fake_pieces.h"

namespace takt {

namespace {

// What a KV cache holds for one position: enough to tell whether it is the right one.
struct Cell {
  TokenId token = -1;
  std::int32_t position = -1;  // -1: never written, or undefined
};

// Step ids from here on are the engine's warm-up: failures do not count them.
constexpr std::uint64_t kWarmUpSteps = 1ULL << 63;
// More than there are letters.
constexpr std::uint64_t kLetterTries = 64;

// The finaliser of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA'14).
std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

std::uint64_t extend(std::uint64_t history, TokenId token) {
  return mix(history ^ static_cast<std::uint32_t>(token));
}

float made_up_logprob(std::uint64_t draw) {
  return -static_cast<float>(draw % 4096) / 1024.0F;
}

class FakeExecutor final : public Executor {
 public:
  FakeExecutor(FakeScript script, const Clock& clock, SpendTime spend)
      : script_(std::move(script)), pieces_(script_), clock_(clock), spend_(std::move(spend)) {
    caps_.model_name = "fake";
    caps_.vocab_size = pieces_.vocab_size();
    caps_.context_tokens = script_.context_tokens;
    caps_.max_sequences = script_.max_sequences;
    caps_.max_step_tokens = script_.max_step_tokens;
    for (std::uint32_t g = 0; g < script_.groups; ++g) {
      const std::uint32_t block_tokens = script_.block_tokens << g;
      const std::uint32_t block_count = std::max(1U, script_.block_count >> g);
      caps_.groups.push_back({block_tokens, block_count, block_tokens * sizeof(Cell)});
      cells_.emplace_back(std::size_t{block_tokens} * block_count);
    }
  }

  const ExecutorCapabilities& capabilities() const override { return caps_; }

  Status open(SequenceSpec spec) override {
    if (gone_) return gone();
    if (sequences_.contains(spec.id)) return Error::internal("The sequence is open already.");
    if (sequences_.size() >= caps_.max_sequences) return Error::internal("Too many sequences are open.");
    sequences_.emplace(spec.id, std::move(spec));
    return {};
  }

  void close(SequenceId sequence) noexcept override { sequences_.erase(sequence); }

  Result<StepTicket> submit(const BoundStep& step) override {
    if (gone_) return gone();
    if (pending_) return Error::internal("A step is under way.");
    const FakeFailure failure = failure_of(step.id);
    if (failure == FakeFailure::kSubmit) return Error::internal("The script refuses this step.");
    if (failure == FakeFailure::kFatal) {
      gone_ = true;
      return gone();
    }
    if (Status valid = check(step); !valid.ok()) return valid.error();

    const TimePoint start = clock_.now();
    Pending pending{failure, std::exchange(spare_, {})};
    pending.result.id = step.id;
    pending.result.entries.clear();
    Duration cost = script_.step_cost + script_.token_cost * step.padding_rows +
                    (failure == FakeFailure::kStall ? script_.stall : Duration::zero());
    for (const BoundEntry& entry : step.entries) write(entry);
    for (const BoundEntry& entry : step.entries) {
      const auto rows = static_cast<std::uint32_t>(entry.tokens.size());
      cost += script_.token_cost * rows +
              script_.attended_cost * static_cast<std::int64_t>(attended_by(entry.first_position, rows));
      pending.result.entries.push_back(run(entry));
    }
    spoil(failure, step, pending.result);
    spend_(cost);
    pending.result.measured = std::max<Duration>(Duration(1), clock_.now() - start);
    pending_ = std::move(pending);
    return StepTicket{step.id};
  }

  Result<StepResult> collect(StepTicket ticket) override {
    if (!pending_ || pending_->result.id != ticket.id) return Error::internal("No such step is under way.");
    Pending pending = *std::exchange(pending_, std::nullopt);
    if (pending.failure == FakeFailure::kThrow) throw std::runtime_error("the script throws in this step");
    if (pending.failure == FakeFailure::kOnce || pending.failure == FakeFailure::kAlways)
      return Error::internal("The script fails this step.");
    return std::move(pending.result);
  }

  void take_back(StepResult&& result) noexcept override { spare_ = std::move(result); }

  Status read_block(GroupId group, BlockId block, std::span<std::byte> bytes) const override {
    if (Status valid = check_block(group, block, bytes.size()); !valid.ok()) return valid;
    std::memcpy(bytes.data(), first_cell(group.value, block), bytes.size());
    spend_(script_.copy_cost);
    return {};
  }

  Status write_block(GroupId group, BlockId block, std::span<const std::byte> bytes) override {
    if (Status valid = check_block(group, block, bytes.size()); !valid.ok()) return valid;
    std::memcpy(const_cast<Cell*>(first_cell(group.value, block)), bytes.data(), bytes.size());
    spend_(script_.copy_cost);
    return {};
  }

 private:
  struct Pending {
    FakeFailure failure;
    StepResult result;
  };

  static Error gone() { return {ErrorCode::kUnavailable, "The fake executor is gone, as scripted.", {}}; }

  FakeFailure failure_of(StepId step) {
    if (script_.fail == FakeFailure::kNone || step.value >= kWarmUpSteps || step.value < script_.fail_step)
      return FakeFailure::kNone;
    if (script_.fail == FakeFailure::kAlways) return FakeFailure::kAlways;
    return std::exchange(failed_once_, true) ? FakeFailure::kNone : script_.fail;
  }

  Status check(const BoundStep& step) const {
    std::uint64_t rows = step.padding_rows;
    for (const BoundEntry& entry : step.entries) {
      if (!sequences_.contains(entry.sequence)) return Error::internal("An entry's sequence is not open.");
      if (entry.tokens.empty()) return Error::internal("An entry has no tokens.");
      if (entry.tables.size() != caps_.groups.size())
        return Error::internal("An entry has not one block table per group.");
      const std::uint64_t end = std::uint64_t{entry.first_position} + entry.tokens.size();
      if (end > caps_.context_tokens) return Error::internal("An entry reaches beyond the context.");
      for (std::size_t g = 0; g < entry.tables.size(); ++g) {
        if (end > std::uint64_t{caps_.groups[g].block_tokens} * entry.tables[g].size())
          return Error::internal("A block table is too short.");
        for (const BlockId block : entry.tables[g]) {
          if (block.value >= caps_.groups[g].block_count)
            return Error::internal("A block table names a block that does not exist.");
        }
      }
      rows += entry.tokens.size();
    }
    if (rows > caps_.max_step_tokens) return Error::internal("The step has too many rows.");
    return {};
  }

  Status check_block(GroupId group, BlockId block, std::size_t bytes) const {
    if (group.value >= caps_.groups.size() || block.value >= caps_.groups[group.value].block_count)
      return Error::internal("There is no such block.");
    if (bytes != caps_.groups[group.value].block_bytes) return Error::internal("A block has another size.");
    return {};
  }

  const Cell* first_cell(std::size_t group, BlockId block) const {
    return cells_[group].data() + std::size_t{block.value} * caps_.groups[group].block_tokens;
  }

  Cell& cell(std::size_t group, std::span<const BlockId> table, std::uint32_t position) {
    const std::uint32_t size = caps_.groups[group].block_tokens;
    return cells_[group][std::size_t{table[position / size].value} * size + position % size];
  }

  void write(const BoundEntry& entry) {
    for (std::size_t g = 0; g < entry.tables.size(); ++g) {
      for (std::uint32_t i = 0; i < entry.tokens.size(); ++i) {
        const std::uint32_t position = entry.first_position + i;
        cell(g, entry.tables[g], position) = {entry.tokens[i], static_cast<std::int32_t>(position)};
      }
    }
  }

  // Token at a position as the blocks have it; empty when a group lacks it or groups disagree.
  std::optional<TokenId> read(const BoundEntry& entry, std::uint32_t position) {
    std::optional<TokenId> token;
    for (std::size_t g = 0; g < entry.tables.size(); ++g) {
      const Cell& found = cell(g, entry.tables[g], position);
      if (found.position != static_cast<std::int32_t>(position) || (token && *token != found.token))
        return std::nullopt;
      token = found.token;
    }
    return token;
  }

  EntryResult run(const BoundEntry& entry) {
    const SequenceSpec& spec = sequences_.find(entry.sequence)->second;
    EntryResult result;
    result.sequence = entry.sequence;
    std::uint64_t history = 0;
    const std::uint32_t end = entry.first_position + static_cast<std::uint32_t>(entry.tokens.size());
    for (std::uint32_t position = 0; position < end; ++position) {
      const auto token = read(entry, position);
      const bool as_opened = !token || position >= spec.known_tokens.size() || spec.known_tokens[position] == *token;
      if (!token || !as_opened) {
        result.outcome = EntryOutcome::kFailed;
        result.error = Error::internal("Position " + std::to_string(position) +
                                       " was attended to before it was written, or holds another sequence's token.");
        return result;
      }
      history = extend(history, *token);
      if (position >= entry.first_position) score(entry, spec, position, history, result);
    }
    if (!entry.samples) return result;
    result.outcome = EntryOutcome::kSampled;
    result.sampled = sample(entry, spec, end - 1, history);
    return result;
  }

  void score(const BoundEntry& entry, const SequenceSpec& spec, std::uint32_t position, std::uint64_t history,
             EntryResult& result) const {
    if (entry.prompt_targets.empty()) return;
    const TokenId target = entry.prompt_targets[position - entry.first_position];
    if (target < 0) return;
    const std::uint64_t draw = mix(extend(history, target));
    result.prompt_logprobs.push_back(
        {target, made_up_logprob(draw), made_up_top(target, draw, spec.sampling.top_logprobs)});
  }

  std::vector<TokenLogprob> made_up_top(TokenId chosen, std::uint64_t draw, std::int32_t count) const {
    std::vector<TokenLogprob> top;
    for (std::int32_t i = 0; i < count; ++i) {
      const TokenId token =
          i == 0 ? chosen
                 : static_cast<TokenId>((static_cast<std::uint32_t>(chosen) + static_cast<std::uint32_t>(i)) %
                                        caps_.vocab_size);
      top.push_back({token, made_up_logprob(draw) - static_cast<float>(i)});
    }
    return top;
  }

  SampledToken sample(const BoundEntry& entry, const SequenceSpec& spec, std::uint32_t position,
                      std::uint64_t history) const {
    const bool greedy = spec.sampling.temperature <= 0.0F;
    const std::uint64_t draw = mix(history ^ (greedy ? 0 : mix(spec.sampling.seed)) ^ position);
    const std::uint32_t generated = position + 1 - std::min(position + 1, spec.prompt_tokens);
    const bool scripted = generated < pieces_.text().size();
    const bool at_end = script_.text.empty() ? generated >= script_.length : !scripted;
    const auto ends = [&](TokenId token) {
      return std::find(spec.end_tokens.begin(), spec.end_tokens.end(), token) != spec.end_tokens.end();
    };
    SampledToken sampled;
    // An end token that nobody stops at is not answered with: the text goes on.
    sampled.token = at_end && ends(kFakeImEnd) ? kFakeImEnd
                    : scripted                 ? pieces_.text()[generated]
                                               : pieces_.letter(draw >> 8);
    for (std::uint64_t i = 1; i < kLetterTries && entry.suppress_end_tokens && ends(sampled.token); ++i) {
      sampled.token = pieces_.letter((draw >> 8) + i);
    }
    sampled.logprob = made_up_logprob(draw);
    sampled.top = made_up_top(sampled.token, draw, spec.sampling.top_logprobs);
    return sampled;
  }

  void spoil(FakeFailure failure, const BoundStep& step, StepResult& result) {
    if (failure == FakeFailure::kEntry) {
      result.entries.front() = {};
      result.entries.front().sequence = step.entries.front().sequence;
      result.entries.front().outcome = EntryOutcome::kFailed;
      result.entries.front().error = Error::internal("The script fails this entry.");
    }
    if (failure == FakeFailure::kUnsampled) {
      for (EntryResult& entry : result.entries) {
        if (entry.outcome == EntryOutcome::kSampled) entry.outcome = EntryOutcome::kNotSampled;
      }
    }
    // The KV of a failed step's positions is undefined.
    if (failure != FakeFailure::kOnce && failure != FakeFailure::kAlways && failure != FakeFailure::kThrow) return;
    for (const BoundEntry& entry : step.entries) {
      for (std::size_t g = 0; g < entry.tables.size(); ++g) {
        for (std::uint32_t i = 0; i < entry.tokens.size(); ++i) cell(g, entry.tables[g], entry.first_position + i) = {};
      }
    }
  }

  const FakeScript script_;
  const FakePieces pieces_;
  const Clock& clock_;
  const SpendTime spend_;
  ExecutorCapabilities caps_;
  std::vector<std::vector<Cell>> cells_;  // per group
  std::unordered_map<SequenceId, SequenceSpec> sequences_;
  std::optional<Pending> pending_;
  StepResult spare_;  // of an earlier step, for its memory
  bool failed_once_ = false;
  bool gone_ = false;
};

}  // namespace

SpendTime sleep_for_real() {
  return [](Duration cost) {
    if (cost > Duration::zero()) std::this_thread::sleep_for(cost);
  };
}

SpendTime advance(ManualClock& clock) {
  return [&clock](Duration cost) { clock.advance(cost); };
}

std::unique_ptr<Executor> make_fake_executor(FakeScript script, const Clock& clock, SpendTime spend) {
  return std::make_unique<FakeExecutor>(std::move(script), clock, std::move(spend));
}

}  // namespace takt
