#include "step_history.h"

#include <algorithm>
#include <utility>

namespace takt::app {

StepHistory::StepHistory(metrics::StepLogReader log, ModelIndex model, std::optional<StepRange> with_cells)
    : log_(std::move(log)), model_(model), with_cells_(with_cells) {}

Result<std::optional<StepView>> StepHistory::next() {
  for (;;) {
    auto record = log_.next();
    if (!record) return record.error();
    if (!record->has_value()) return std::optional<StepView>{};
    if ((*record)->model != model_) continue;
    take(**record);
    if (done_) return std::exchange(done_, std::nullopt);
  }
}

void StepHistory::take(metrics::StepRecord& record) {
  if (std::holds_alternative<metrics::EngineStarted>(record.what)) {
    state_ = {};
    planned_.reset();
  } else if (const auto* lives = std::get_if<metrics::SequenceLives>(&record.what)) {
    state_.live[lives->added.facts.id] = *lives;
  } else if (const auto* added = std::get_if<metrics::SequenceAdded>(&record.what)) {
    state_.add(*added);
  } else if (const auto* removed = std::get_if<metrics::SequenceRemoved>(&record.what)) {
    state_.remove(removed->sequence);
  } else if (const auto* lost = std::get_if<metrics::SwappedLost>(&record.what)) {
    state_.lose(*lost);
  } else if (auto* planned = std::get_if<metrics::StepPlanned>(&record.what)) {
    state_.plan(planned->view, planned->plan);
    StepView view;
    view.begin = record.at;
    view.blocks_free = planned->view.free.blocks[0] + planned->view.evictable.blocks[0];
    view.plan = std::move(planned->plan);
    const std::uint32_t not_prefill = view.plan.features.decode_rows + view.plan.features.padding_rows;
    view.prefill_tokens = view.plan.features.tokens - std::min(view.plan.features.tokens, not_prefill);
    planned_ = std::move(view);
  } else if (const auto* done = std::get_if<metrics::StepDone>(&record.what); done != nullptr && planned_) {
    planned_->end = record.at;
    planned_->measured = done->measured;
    if (with_cells_ && with_cells_->contains(planned_->plan.id)) planned_->cells = cells();
    state_.commit(done->progress);
    for (const auto& [id, sequence] : state_.live) ++(sequence.running ? planned_->running : planned_->waiting);
    done_ = std::exchange(planned_, std::nullopt);
  }
}

std::vector<StepCell> StepHistory::cells() const {
  std::vector<StepCell> cells;
  for (const auto& [id, lives] : state_.live) {
    StepCell cell{id, lives.added.request, lives.added.choice, lives.added.facts.tier};
    const auto& entries = planned_->plan.entries;
    const auto entry = std::find_if(entries.begin(), entries.end(),
                                    [&, sequence = id](const PlanEntry& e) { return e.sequence == sequence; });
    if (entry != entries.end()) {
      const bool row = entry->token_count == 1 && !entry->admits && entry->samples;
      cell.state = row ? CellState::kDecode : CellState::kPrefill;
      cell.tokens = entry->token_count;
    } else if (lives.running) {
      cell.state = CellState::kPaused;
    } else if (lives.swapped_until > lives.computed) {
      cell.state = CellState::kSwapped;
    } else if (lives.cover > 0 || lives.known > lives.added.facts.prompt_tokens) {
      cell.state = CellState::kPreempted;
    }
    cells.push_back(cell);
  }
  std::sort(cells.begin(), cells.end(), [](const StepCell& a, const StepCell& b) { return a.sequence < b.sequence; });
  return cells;
}

Result<StepRange> choose_range(metrics::StepLogReader log, ModelIndex model, std::uint64_t most) {
  constexpr std::uint64_t kAround = 14;
  StepHistory history(std::move(log), model, std::nullopt);
  StepRange best{1, 0};
  StepRange now{1, 0};
  std::uint64_t last = 0;
  for (;;) {
    const auto step = history.next();
    if (!step) return step.error();
    if (!step->has_value()) break;
    last = (*step)->plan.id.value;
    const bool mixed = (*step)->prefill_tokens > 0 && (*step)->plan.features.decode_rows > 1;
    if (!mixed) {
      now = {1, 0};
      continue;
    }
    if (now.last == 0) now.first = last;
    now.last = last;
    if (best.last == 0 || now.last - now.first > best.last - best.first) best = now;
  }
  if (best.last == 0) return StepRange{last > most ? last - most + 1 : 1, last};
  const std::uint64_t first = best.first > kAround ? best.first - kAround : 1;
  return StepRange{first, std::min(best.last + kAround, first + most - 1)};
}

}  // namespace takt::app
