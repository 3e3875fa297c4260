// Who owns each page of the swap arena. Ids and counts only.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/ids.h"

namespace takt {

enum class PageState : std::uint8_t {
  kFree,
  kWriting,  // on its way out
  kHeld,     // in the arena
  kReading,  // on its way back; still in the arena
};

struct PageSnapshot {
  PageState state = PageState::kFree;
  std::optional<SequenceId> owner;  // none although not free: its sequence is gone and its transfer is not over yet
};

struct SwapSnapshot {
  std::uint32_t page_tokens = 0;  // 0: there is no arena
  std::vector<PageSnapshot> pages;
  std::uint32_t free_count = 0;
  struct Tail {
    SequenceId sequence;
    std::vector<PageId> pages;  // the last one holds the lowest positions
  };
  std::vector<Tail> tails;
};

// Every broken rule in words; empty when all hold: a page is in one tail or in none; those in a tail are not free and
// name it; free pages have no owner; the counts agree.
std::vector<std::string> broken_swap_rules(const SwapSnapshot& snapshot);

// A sequence's pages hold the tail of its tokens without a gap: more are added below, and they come back from below.
class SwapLedger {
 public:
  explicit SwapLedger(std::uint32_t pages);

  // Gives `count` pages to the sequence, below those that it has; they are being written, lowest positions last. False,
  // with nothing taken, when fewer are free.
  bool take(SequenceId sequence, std::uint32_t count);
  // From highest to lowest positions.
  std::span<const PageId> pages_of(SequenceId sequence) const;
  // Its lowest page has come back.
  void release_lowest(SequenceId sequence) noexcept;
  // Everything of it. Pages with a transfer under way come free when that is over.
  void release(SequenceId sequence) noexcept;

  void begin_read(PageId page) noexcept;
  // The transfer of the page is over. Gives its owner, if it still has one.
  std::optional<SequenceId> transfer_over(PageId page) noexcept;

  PageState state(PageId page) const { return states_[page.value]; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(states_.size()); }
  std::uint32_t free_count() const { return static_cast<std::uint32_t>(free_.size()); }
  SwapSnapshot snapshot() const;

 private:
  void give_up(PageId page) noexcept;

  std::vector<PageState> states_;
  std::vector<std::optional<SequenceId>> owners_;
  std::vector<PageId> free_;
  std::unordered_map<SequenceId, std::vector<PageId>> tails_;
};

}  // namespace takt
