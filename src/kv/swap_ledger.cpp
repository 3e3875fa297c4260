#include "kv/swap_ledger.h"

namespace takt {

SwapLedger::SwapLedger(std::uint32_t pages) : states_(pages, PageState::kFree), owners_(pages) {
  free_.reserve(pages);
  for (std::uint32_t i = pages; i > 0; --i) free_.emplace_back(i - 1);
}

bool SwapLedger::take(SequenceId sequence, std::uint32_t count) {
  if (count > free_.size()) return false;
  std::vector<PageId>& tail = tails_[sequence];
  for (; count > 0; --count) {
    const PageId page = free_.back();
    free_.pop_back();
    states_[page.value] = PageState::kWriting;
    owners_[page.value] = sequence;
    tail.push_back(page);
  }
  return true;
}

std::span<const PageId> SwapLedger::pages_of(SequenceId sequence) const {
  const auto tail = tails_.find(sequence);
  if (tail == tails_.end()) return {};
  return tail->second;
}

void SwapLedger::give_up(PageId page) noexcept {
  owners_[page.value].reset();
  if (states_[page.value] != PageState::kHeld) return;
  states_[page.value] = PageState::kFree;
  free_.push_back(page);
}

void SwapLedger::release_lowest(SequenceId sequence) noexcept {
  const auto tail = tails_.find(sequence);
  if (tail == tails_.end() || tail->second.empty()) return;
  give_up(tail->second.back());
  tail->second.pop_back();
  if (tail->second.empty()) tails_.erase(tail);
}

void SwapLedger::release(SequenceId sequence) noexcept {
  const auto tail = tails_.find(sequence);
  if (tail == tails_.end()) return;
  for (const PageId page : tail->second) give_up(page);
  tails_.erase(tail);
}

void SwapLedger::begin_read(PageId page) noexcept {
  if (states_[page.value] == PageState::kHeld) states_[page.value] = PageState::kReading;
}

std::optional<SequenceId> SwapLedger::transfer_over(PageId page) noexcept {
  PageState& state = states_[page.value];
  if (state != PageState::kWriting && state != PageState::kReading) return std::nullopt;
  state = PageState::kHeld;
  if (!owners_[page.value]) give_up(page);
  return owners_[page.value];
}

SwapSnapshot SwapLedger::snapshot() const {
  SwapSnapshot snapshot;
  snapshot.free_count = free_count();
  for (std::size_t i = 0; i < states_.size(); ++i) snapshot.pages.push_back({states_[i], owners_[i]});
  for (const auto& [sequence, pages] : tails_) snapshot.tails.push_back({sequence, pages});
  return snapshot;
}

std::vector<std::string> broken_swap_rules(const SwapSnapshot& snapshot) {
  std::vector<std::string> broken;
  std::vector<std::uint32_t> named(snapshot.pages.size(), 0);
  const auto fail = [&](std::size_t page, const char* what) {
    broken.push_back("swap page " + std::to_string(page) + " " + what);
  };
  for (const SwapSnapshot::Tail& tail : snapshot.tails) {
    for (const PageId page : tail.pages) {
      ++named[page.value];
      const PageSnapshot& is = snapshot.pages[page.value];
      if (is.state == PageState::kFree) fail(page.value, "is free and in a tail");
      if (is.owner != tail.sequence) fail(page.value, "is in the tail of a sequence that does not own it");
    }
  }
  std::uint32_t free = 0;
  for (std::size_t i = 0; i < snapshot.pages.size(); ++i) {
    const PageSnapshot& page = snapshot.pages[i];
    free += page.state == PageState::kFree ? 1 : 0;
    if (named[i] > 1) fail(i, "is in two tails");
    if (page.owner && named[i] == 0) fail(i, "has an owner and is in no tail");
    if (page.state == PageState::kHeld && !page.owner) fail(i, "is held for nobody");
  }
  if (free != snapshot.free_count) broken.emplace_back("the count of free swap pages is wrong");
  return broken;
}

}  // namespace takt
