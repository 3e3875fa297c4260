// The largest value of a row whose parts several threads compute.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <limits>

namespace takt {

// The result does not depend on who offers what when: the largest value, of equal ones the one in the lowest column
// (-0 equals +0). Offers may come from several threads, readings when all are done.
class RowBest {
 public:
  void clear() { key_.store(0, std::memory_order_relaxed); }

  // Whether an offer of this value can change anything now; NaN can.
  bool may_take(float value) const {
    return !(value < std::numeric_limits<float>::infinity()) ||
           order_of(value) >= key_.load(std::memory_order_relaxed) >> kOrderShift;
  }

  // A value below +infinity.
  void offer(float value, std::uint32_t column) {
    raise(std::uint64_t{order_of(value)} << kOrderShift | (UINT32_MAX - column));
  }
  // The row has a value that is NaN or +infinity.
  void spoil() { raise(kSpoilt); }

  bool spoilt() const { return key_.load(std::memory_order_relaxed) == kSpoilt; }
  // Whether a value above -infinity was offered.
  bool found() const {
    return key_.load(std::memory_order_relaxed) >> kOrderShift > order_of(-std::numeric_limits<float>::infinity());
  }
  std::uint32_t column() const {
    return UINT32_MAX - static_cast<std::uint32_t>(key_.load(std::memory_order_relaxed) & UINT32_MAX);
  }

 private:
  static constexpr unsigned kOrderShift = 32;
  static constexpr std::uint64_t kSpoilt = UINT64_MAX;

  // Integers in the order of the floats, all above 0.
  static std::uint32_t order_of(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value + 0.0F);  // -0 becomes +0
    return (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
  }

  void raise(std::uint64_t key) {
    std::uint64_t held = key_.load(std::memory_order_relaxed);
    while (held < key && !key_.compare_exchange_weak(held, key, std::memory_order_relaxed)) {
    }
  }

  std::atomic<std::uint64_t> key_{0};
};

}  // namespace takt
