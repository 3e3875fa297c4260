// How long answers get, from those that ended. Answers' lengths change slowly, so the recent ones say most (Gong et
// al., "Past-Future Scheduler for LLM Serving under SLA Guarantees", 2025, section 3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

namespace takt {

class LengthForecast {
 public:
  // An answer of so many tokens came to its natural end.
  void observe(std::uint32_t tokens);

  // Tokens that an answer with `generated` tokens will still get: the 80 % point of those earlier answers that were
  // longer, at most `limit` - `generated`. Before there are enough of these, the limit or kBeforeData, whichever is
  // less.
  std::uint32_t remaining(std::uint32_t generated, std::uint32_t limit) const;

  static constexpr std::size_t kKept = 1000;
  static constexpr std::size_t kEnough = 16;
  static constexpr std::uint32_t kBeforeData = 512;

 private:
  std::deque<std::uint32_t> recent_;   // in order of time
  std::vector<std::uint32_t> sorted_;  // the same, by length
};

// A sequence that holds KV now, and what it will hold when it ends.
struct LengthOutlook {
  std::uint32_t held_tokens = 0;  // positions its blocks reach
  std::uint32_t known_tokens = 0;
  std::uint32_t remaining = 0;
  bool operator==(const LengthOutlook&) const = default;
};

// Tokens of KV that must be free now so that all can run to their forecast end without preemption: at the worst moment,
// what the remaining ones have grown less what the ended ones gave back. `slack`: tokens lost to rounding per sequence.
// Reorders `outlooks`.
std::uint64_t peak_growth(std::span<LengthOutlook> outlooks, std::uint32_t slack);

}  // namespace takt
