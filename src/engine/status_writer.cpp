#include "engine/status_writer.h"

#include <algorithm>

namespace takt {

namespace {

constexpr std::size_t kHeadsInReport = 16;
constexpr std::uint64_t kErrorQuantileEvery = 64;  // steps

RequestPhase phase_of(const SequenceView& view, const SequenceRecord& record) {
  if (view.state == SequenceState::kUnstarted || view.state == SequenceState::kSibling) return RequestPhase::kQueued;
  return record.generated() > 0 ? RequestPhase::kDecode : RequestPhase::kPrefill;
}

}  // namespace

void StatusWriter::write(const StepTally& tally, const std::optional<std::string>& fatal, TimePoint now,
                         bool another_follows) {
  parts_.board.update(another_follows, [&](BoardEntry& entry) {
    EngineStatus& status = entry.status;
    status.failed = fatal.has_value();
    status.reason = fatal.value_or("");
    const SchedulerCounts counts = parts_.scheduler.counts();
    status.running = counts.running;
    status.waiting = counts.waiting;
    write_memory(status);
    if (status.steps != tally.steps && tally.steps % kErrorQuantileEvery == 0) {
      status.predicted_error_p50 = parts_.step_time.error_quantile(0.5);
      status.predicted_error_p90 = parts_.step_time.error_quantile(0.9);
    }
    status.steps = tally.steps;
    status.busy = tally.busy;
    status.idle_while_waiting = tally.idle;
    status.swap = parts_.swap.status();

    entry.planned_at = now;
    entry.stall.step = tally.last;
    write_sequences(entry, now);
    entry.stall.sequences_left_out =
        counts.running + counts.waiting - static_cast<std::uint32_t>(entry.stall.sequences.size());
  });
}

void StatusWriter::write_memory(EngineStatus& status) const {
  const CapacityView view = parts_.kv.capacity();
  status.blocks_total = view.total.blocks[0];
  status.blocks_free = view.free.blocks[0];
  status.blocks_cached = view.evictable.blocks[0];
  status.blocks_owned = view.total.blocks[0] - view.free.blocks[0] - view.evictable.blocks[0];
  status.blocks_unused = std::min(status.blocks_owned, parts_.scheduler.unused_blocks(parts_.block_tokens));
  const IdleBlocks idle = parts_.kv.idle_blocks();
  status.blocks_lingering = idle.lingering;
  status.blocks_kept = idle.pinned;
  status.blocks_realtime = idle.realtime;
  status.blocks_batch = idle.batch;
  status.linger_end = parts_.kv.last_linger_end();
  status.blocks_pinned = parts_.kv.pinned_blocks();
  status.unused_cover_tokens = parts_.scheduler.unused_cover();
}

void StatusWriter::write_sequences(BoardEntry& entry, TimePoint now) {
  entry.oldest_last_token = TimePoint::max();
  entry.stall.sequences.clear();
  parts_.scheduler.look(kHeadsInReport, looked_at_);
  for (const SequenceView& view : looked_at_) {
    const SequenceRecord& s = *parts_.store.find(view.sequence);
    const RequestPhase phase = phase_of(view, s);
    if (phase == RequestPhase::kDecode) entry.oldest_last_token = std::min(entry.oldest_last_token, s.last_progress);
    entry.stall.sequences.push_back({s.request->request.id, s.choice, s.request->request.labels.tier, phase,
                                     view.reason, view.known, view.computed, now - s.last_progress});
  }
}

}  // namespace takt
