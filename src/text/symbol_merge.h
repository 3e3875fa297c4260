// The merge loop that BPE and SPM tokenizers share: of all neighbours that may merge, those with the smallest priority
// value do, the leftmost first, until none is left (Sennrich et al., "Neural Machine Translation of Rare Words with
// Subword Units", ACL 2016, section 3.2).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace takt {

struct Symbol {
  std::int32_t id = -1;  // meaning is the rule's own
  std::uint32_t begin = 0;
  std::uint32_t length = 0;  // > 0; symbols stand side by side
};

struct Merge {
  static constexpr std::uint32_t kNever = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t priority = kNever;
  std::int32_t id = -1;  // of the merged symbol
};

// Memory that is used again from word to word. One per thread.
class SymbolMerger {
 public:
  // Rule: Merge operator()(const Symbol& left, const Symbol& right) const. O(n log n) in the number of symbols.
  template <typename Rule>
  void run(std::vector<Symbol>& symbols, const Rule& rule) {
    if (symbols.size() < 2) return;
    if (symbols.size() <= kShort) {
      run_short(symbols, rule);
    } else {
      run_long(symbols, rule);
    }
  }

 private:
  // Up to here a linear search for the best pair beats a heap.
  static constexpr std::size_t kShort = 24;

  struct Candidate {
    std::uint32_t priority, left, right, length;
    std::int32_t id;
    // For a heap whose top is the smallest priority, then the leftmost.
    bool operator<(const Candidate& other) const {
      return priority != other.priority ? priority > other.priority : left > other.left;
    }
  };

  template <typename Rule>
  void run_short(std::vector<Symbol>& symbols, const Rule& rule) {
    merges_.clear();
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i) merges_.push_back(rule(symbols[i], symbols[i + 1]));
    for (;;) {
      const auto best = std::min_element(merges_.begin(), merges_.end(),
                                         [](const Merge& a, const Merge& b) { return a.priority < b.priority; });
      if (best == merges_.end() || best->priority == Merge::kNever) return;
      const auto at = static_cast<std::size_t>(best - merges_.begin());
      symbols[at].id = best->id;
      symbols[at].length += symbols[at + 1].length;
      symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(at) + 1);
      merges_.erase(best);
      if (at > 0) merges_[at - 1] = rule(symbols[at - 1], symbols[at]);
      if (at + 1 < symbols.size()) merges_[at] = rule(symbols[at], symbols[at + 1]);
    }
  }

  template <typename Rule>
  void run_long(std::vector<Symbol>& symbols, const Rule& rule) {
    const auto count = static_cast<std::uint32_t>(symbols.size());
    links_.resize(count);
    heap_.clear();
    const auto consider = [&](std::uint32_t left, std::uint32_t right) {
      const Merge merge = rule(symbols[left], symbols[right]);
      if (merge.priority == Merge::kNever) return false;
      heap_.push_back({merge.priority, left, right, symbols[left].length + symbols[right].length, merge.id});
      return true;
    };
    for (std::uint32_t i = 0; i < count; ++i) {
      links_[i] = {i == 0 ? kNobody : i - 1, i + 1 == count ? kNobody : i + 1};
      if (i > 0) consider(i - 1, i);
    }
    std::make_heap(heap_.begin(), heap_.end());
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end());
      const Candidate best = heap_.back();
      heap_.pop_back();
      Symbol& left = symbols[best.left];
      Symbol& right = symbols[best.right];
      // Symbols only grow or go (length 0), so a candidate is still true when both are there and as long as they were
      // together.
      if (left.length == 0 || right.length == 0 || left.length + right.length != best.length) continue;
      left.id = best.id;
      left.length = best.length;
      right.length = 0;
      const std::uint32_t after = links_[best.right].next;
      links_[best.left].next = after;
      if (after != kNobody) {
        links_[after].previous = best.left;
        if (consider(best.left, after)) std::push_heap(heap_.begin(), heap_.end());
      }
      const std::uint32_t before = links_[best.left].previous;
      if (before != kNobody && consider(before, best.left)) std::push_heap(heap_.begin(), heap_.end());
    }
    symbols.erase(std::remove_if(symbols.begin(), symbols.end(), [](const Symbol& s) { return s.length == 0; }),
                  symbols.end());
  }

  static constexpr std::uint32_t kNobody = std::numeric_limits<std::uint32_t>::max();
  struct Links {
    std::uint32_t previous, next;
  };

  std::vector<Merge> merges_;
  std::vector<Links> links_;
  std::vector<Candidate> heap_;
};

}  // namespace takt
