#include "engine/warm_up.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>

#include "core/kv_group.h"

namespace takt {

namespace {

// Ids that real sequences and steps never reach.
constexpr std::uint64_t kScratchIds = std::numeric_limits<std::uint64_t>::max() - 1024;
constexpr std::uint32_t kNeighbours = 8;  // sequences of the steps with several rows
constexpr std::uint32_t kNeighbourTokens = 16;

class ScratchSequence {
 public:
  ScratchSequence(Executor& executor, SequenceId id) : executor_(executor), id_(id) {}
  ~ScratchSequence() {
    if (open_) executor_.close(id_);
  }
  ScratchSequence(const ScratchSequence&) = delete;
  ScratchSequence& operator=(const ScratchSequence&) = delete;

  // Takes the blocks for `tokens` tokens from `next` on.
  Status open(std::uint32_t tokens, const BlockGeometry& geometry, GroupCounts& next) {
    SequenceSpec spec;
    spec.id = id_;
    spec.known_tokens = {0};
    spec.prompt_tokens = 1;
    Status opened = executor_.open(std::move(spec));
    if (!opened.ok()) return opened;
    open_ = true;
    const GroupCounts blocks = geometry.blocks_for(tokens);
    const std::size_t groups = executor_.capabilities().groups.size();
    tables_.resize(groups);
    for (std::size_t g = 0; g < groups; ++g) {
      for (std::uint32_t i = 0; i < blocks.blocks[g]; ++i) tables_[g].push_back(BlockId(next.blocks[g]++));
    }
    spans_.assign(tables_.begin(), tables_.end());
    tokens_.assign(tokens, 0);
    return {};
  }

  std::uint32_t room() const { return static_cast<std::uint32_t>(tokens_.size()) - position_; }

  BoundEntry next_rows(std::uint32_t count, bool samples) {
    BoundEntry entry;
    entry.sequence = id_;
    entry.first_position = position_;
    entry.tokens = std::span(tokens_).subspan(position_, count);
    entry.tables = spans_;
    entry.samples = samples;
    position_ += count;
    return entry;
  }

 private:
  Executor& executor_;
  SequenceId id_;
  bool open_ = false;
  std::uint32_t position_ = 0;
  std::vector<TokenId> tokens_;
  std::vector<std::vector<BlockId>> tables_;
  std::vector<std::span<const BlockId>> spans_;
};

class WarmUp {
 public:
  WarmUp(Executor& executor, const Clock& clock, Duration at_most)
      : executor_(executor),
        caps_(executor.capabilities()),
        geometry_(block_geometry(caps_.groups)),
        clock_(clock),
        deadline_(clock.now() + at_most),
        lead_(executor, SequenceId(kScratchIds)) {}

  Status run() {
    const auto pool = std::min<std::uint64_t>(pool_tokens(caps_.groups), caps_.context_tokens);
    const auto lead_tokens = static_cast<std::uint32_t>(std::min<std::uint64_t>(pool, 1024));
    if (Status opened = lead_.open(lead_tokens, geometry_, next_block_); !opened.ok()) return opened;
    // The first step touches everything for the first time.
    if (Status first = lead_step(1); !first.ok()) return first;
    if (samples_.size() > 0 && enough_time(1)) samples_.clear();
    constexpr std::array<std::uint32_t, 13> kSizes = {1, 1, 2, 4, 8, 16, 32, 64, 128, 256, 1, 1, 1};
    for (const std::uint32_t size : kSizes) {
      if (!enough_time(size) && !samples_.empty()) continue;
      if (size > lead_.room() || size > caps_.max_step_tokens) continue;
      if (Status step = lead_step(size); !step.ok()) return step;
    }
    return several_sequences();
  }

  std::vector<StepSample> take() { return std::move(samples_); }

 private:
  // From the slowest cost per row seen so far at this size or below.
  bool enough_time(std::uint32_t rows) const {
    if (clock_.now() >= deadline_) return false;
    if (samples_.empty()) return true;
    const StepSample& last = samples_.back();
    const Duration one_step = last.measured * std::max(1U, rows / std::max(1U, last.features.tokens));
    return clock_.now() + one_step <= deadline_;
  }

  Status lead_step(std::uint32_t rows) {
    const std::array entries = {lead_.next_rows(rows, rows == 1)};
    return execute(entries);
  }

  Status several_sequences() {
    const auto pool = pool_tokens(caps_.groups);
    const std::uint32_t count = std::min({kNeighbours, caps_.max_sequences - 1, caps_.max_step_tokens / 4});
    const std::uint64_t aligned =
        (std::uint64_t{kNeighbourTokens} + geometry_.alignment - 1) / geometry_.alignment * geometry_.alignment;
    if (count < 2 || caps_.context_tokens < kNeighbourTokens || pool < 1024 + count * aligned ||
        !enough_time(4 * count))
      return {};
    std::vector<std::unique_ptr<ScratchSequence>> neighbours;
    for (std::uint32_t i = 0; i < count; ++i) {
      neighbours.push_back(std::make_unique<ScratchSequence>(executor_, SequenceId(kScratchIds + 1 + i)));
      if (Status opened = neighbours.back()->open(kNeighbourTokens, geometry_, next_block_); !opened.ok())
        return opened;
    }
    for (const std::uint32_t rows : {4U, 1U, 1U, 1U}) {
      if (!enough_time(rows * count)) return {};
      std::vector<BoundEntry> entries;
      for (auto& neighbour : neighbours) entries.push_back(neighbour->next_rows(rows, rows == 1));
      if (Status step = execute(entries); !step.ok()) return step;
    }
    return {};
  }

  Status execute(std::span<const BoundEntry> entries) {
    const StepId id(kScratchIds + steps_++);
    const auto ticket = executor_.submit({id, entries});
    if (!ticket.ok()) return ticket.error();
    const auto result = executor_.collect(ticket.value());
    if (!result.ok()) return result.error();
    StepSample sample;
    sample.measured = result.value().measured;
    for (const BoundEntry& entry : entries) {
      const auto rows = static_cast<std::uint32_t>(entry.tokens.size());
      sample.features.tokens += rows;
      sample.features.decode_rows += rows == 1 ? 1 : 0;
      sample.features.logits_rows += entry.samples ? 1 : 0;
      sample.features.attended_positions += attended_by(entry.first_position, rows);
    }
    samples_.push_back(sample);
    return {};
  }

  Executor& executor_;
  const ExecutorCapabilities& caps_;
  const BlockGeometry geometry_;
  const Clock& clock_;
  const TimePoint deadline_;
  ScratchSequence lead_;
  GroupCounts next_block_;
  std::uint64_t steps_ = 0;
  std::vector<StepSample> samples_;
};

}  // namespace

Result<std::vector<StepSample>> measure_steps(Executor& executor, const Clock& clock, Duration at_most) {
  WarmUp warm_up(executor, clock, at_most);
  if (const Status done = warm_up.run(); !done.ok()) return done.error();
  return warm_up.take();
}

Result<double> measure_block_copy(Executor& executor, const Clock& clock) {
  // Each block to a place of its own, and all of them out before the first comes back: what leaves and returns is more
  // than a core's caches hold.
  constexpr std::size_t kMostBytes = std::size_t{32} << 20;
  constexpr std::size_t kMostBlocks = 128;
  const KvGroupInfo& group = executor.capabilities().groups.front();
  const std::size_t size = std::max<std::size_t>(1, group.block_bytes);
  const std::size_t most = std::min<std::size_t>(kMostBlocks, group.block_count);
  const auto blocks = static_cast<std::uint32_t>(std::clamp<std::size_t>(kMostBytes / size, 1, most));
  std::vector<std::byte> bytes(group.block_bytes * blocks);
  const auto place = [&](std::uint32_t i) {
    return std::span(bytes).subspan(i * group.block_bytes, group.block_bytes);
  };
  TimePoint start;
  // Once for memory that nobody has touched yet.
  for (int pass = 0; pass < 2; ++pass) {
    start = clock.now();
    for (std::uint32_t i = 0; i < blocks; ++i) {
      if (Status read = executor.read_block(GroupId(0), BlockId(i), place(i)); !read) return read.error();
    }
    for (std::uint32_t i = 0; i < blocks; ++i) {
      if (Status written = executor.write_block(GroupId(0), BlockId(i), place(i)); !written) return written.error();
    }
  }
  return to_seconds(clock.now() - start) / (2.0 * blocks);
}

}  // namespace takt
