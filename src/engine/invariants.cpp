#include "engine/invariants.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace takt {

std::vector<std::string> broken_rules(const SequenceStore& store, const std::vector<SequenceView>& views,
                                      const MemorySnapshot& memory) {
  const KvSnapshot& kv = memory.kv;
  std::vector<std::string> broken = broken_kv_rules(kv);
  for (std::string& rule : broken_swap_rules(memory.swap)) broken.push_back(std::move(rule));
  std::unordered_map<SequenceId, std::size_t> swapped_pages;
  for (const SwapSnapshot::Tail& tail : memory.swap.tails) swapped_pages[tail.sequence] = tail.pages.size();
  std::unordered_map<SequenceId, const TableSnapshot*> tables;
  for (const TableSnapshot& table : kv.tables) tables.emplace(table.sequence, &table);

  const auto fail = [&](SequenceId id, const char* what) {
    broken.push_back("sequence " + std::to_string(id.value) + " " + what);
  };
  for (const SequenceView& view : views) {
    const SequenceRecord* record = store.find(view.sequence);
    const auto table = tables.find(view.sequence);
    if (record == nullptr || record->over) {
      fail(view.sequence, "is scheduled and not alive");
      continue;
    }
    if (table == tables.end()) {
      fail(view.sequence, "has no block table");
      continue;
    }
    if (record->known.size() != view.known)
      fail(view.sequence, "has other known tokens in the store than in the scheduler");
    if (table->second->computed != view.computed)
      fail(view.sequence, "has other computed tokens in KV than in the scheduler");
    if (view.computed > view.known) fail(view.sequence, "has more computed than known tokens");
    for (std::size_t g = 0; g < kv.groups.size(); ++g) {
      const std::uint32_t size = kv.groups[g].block_tokens;
      if (table->second->blocks[g].size() != (view.cover + size - 1) / size)
        fail(view.sequence, "has another table length than planned with");
    }
    const std::uint32_t swapped = view.swapped_until - std::min(view.swapped_until, view.computed);
    const std::uint32_t page = std::max(1U, memory.swap.page_tokens);
    const auto pages = swapped_pages.extract(view.sequence);
    if ((pages.empty() ? 0 : pages.mapped()) != (swapped + page - 1) / page)
      fail(view.sequence, "has other pages in the swap arena than it is planned with");
    if (view.state == SequenceState::kRunning && swapped > 0) fail(view.sequence, "runs while it is swapped out");
    const bool never_started = view.state == SequenceState::kUnstarted || view.state == SequenceState::kSibling;
    if (never_started && view.cover != 0) fail(view.sequence, "holds blocks before it started");
    if ((view.state == SequenceState::kRunning) != record->open_in_executor)
      fail(view.sequence, "is open in the executor without a seat, or the other way");
  }
  std::size_t alive = 0;
  for (const RequestId id : store.ids()) {
    for (const SequenceRecord& s : store.find(id)->sequences) alive += s.over ? 0 : 1;
  }
  if (alive != views.size())
    broken.push_back("the scheduler knows " + std::to_string(views.size()) + " of " + std::to_string(alive) +
                     " sequences");
  if (!swapped_pages.empty()) broken.push_back("there are swap pages of unknown sequences");
  if (tables.size() != views.size()) broken.push_back("there are block tables of unknown sequences");
  return broken;
}

}  // namespace takt
