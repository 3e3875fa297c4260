// The 16 virtual lanes as four 128-bit registers: AArch64's Advanced SIMD. Included only by the translation units that
// are compiled for it; it uses no inline functions of other headers, so that no such code reaches the rest of the
// program through the linker.
#pragma once

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

#include "kernels/numerics.h"

#define TAKT_INLINE inline __attribute__((always_inline))

namespace takt {

// Dot: how four products of bytes are added into each 32-bit element. It offers
//   template <int kLane> int32x4_t add(int32x4_t sums, int8x16_t weights, int8x16_t x)
// which adds to element i the products of bytes 4i..4i+3 of the weights and bytes 4 * kLane..4 * kLane + 3 of x.
template <typename Dot>
struct NeonLanes {
  static constexpr std::size_t kWidth = kLanes;
  static constexpr std::size_t kRegisters = 4;
  struct F {
    float32x4_t v[kRegisters];
  };
  struct I {
    int32x4_t v[kRegisters];
  };

  static TAKT_INLINE F load(const float* p) {
    return {vld1q_f32(p), vld1q_f32(p + 4), vld1q_f32(p + 8), vld1q_f32(p + 12)};
  }
  static TAKT_INLINE F load_half(const std::uint16_t* p) {
    const auto widen = [](const std::uint16_t* q) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(q))); };
    return {widen(p), widen(p + 4), widen(p + 8), widen(p + 12)};
  }
  static TAKT_INLINE F load_bfloat(const std::uint16_t* p) {
    const auto widen = [](const std::uint16_t* q) { return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(q), 16)); };
    return {widen(p), widen(p + 4), widen(p + 8), widen(p + 12)};
  }
  static TAKT_INLINE I load_u8(const std::uint8_t* p) {
    const uint8x16_t bytes = vld1q_u8(p);
    const uint16x8_t low = vmovl_u8(vget_low_u8(bytes));
    const uint16x8_t high = vmovl_u8(vget_high_u8(bytes));
    const auto widen = [](uint16x4_t four) { return vreinterpretq_s32_u32(vmovl_u16(four)); };
    return {widen(vget_low_u16(low)), widen(vget_high_u16(low)), widen(vget_low_u16(high)), widen(vget_high_u16(high))};
  }
  static TAKT_INLINE I load_i8(const std::int8_t* p) {
    const int8x16_t bytes = vld1q_s8(p);
    const int16x8_t low = vmovl_s8(vget_low_s8(bytes));
    const int16x8_t high = vmovl_s8(vget_high_s8(bytes));
    return {vmovl_s16(vget_low_s16(low)), vmovl_s16(vget_high_s16(low)), vmovl_s16(vget_low_s16(high)),
            vmovl_s16(vget_high_s16(high))};
  }
  static TAKT_INLINE I load_i8_pairs(const std::int8_t* p) {
    const auto widen = [](const std::int8_t* q) { return vreinterpretq_s32_s16(vmovl_s8(vld1_s8(q))); };
    return {widen(p), widen(p + 8), widen(p + 16), widen(p + 24)};
  }
  static TAKT_INLINE void store(float* p, F x) {
    for (std::size_t g = 0; g < kRegisters; ++g) vst1q_f32(p + 4 * g, x.v[g]);
  }
  static TAKT_INLINE void store_half(std::uint16_t* p, F x) {
    for (std::size_t g = 0; g < kRegisters; ++g) vst1_u16(p + 4 * g, vreinterpret_u16_f16(vcvt_f16_f32(x.v[g])));
  }
  static TAKT_INLINE void store_i8(std::int8_t* p, I x) {
    const int16x8_t low = vcombine_s16(vmovn_s32(x.v[0]), vmovn_s32(x.v[1]));
    const int16x8_t high = vcombine_s16(vmovn_s32(x.v[2]), vmovn_s32(x.v[3]));
    vst1q_s8(p, vcombine_s8(vmovn_s16(low), vmovn_s16(high)));
  }
  static TAKT_INLINE F broadcast(float x) {
    const float32x4_t v = vdupq_n_f32(x);
    return {v, v, v, v};
  }
  static TAKT_INLINE I broadcast_int(std::int32_t x) {
    const int32x4_t v = vdupq_n_s32(x);
    return {v, v, v, v};
  }
  static TAKT_INLINE I iota() {
    const std::int32_t first[4] = {0, 1, 2, 3};
    const int32x4_t v = vld1q_s32(first);
    return {v, vaddq_s32(v, vdupq_n_s32(4)), vaddq_s32(v, vdupq_n_s32(8)), vaddq_s32(v, vdupq_n_s32(12))};
  }

  static TAKT_INLINE F add(F x, F y) {
    return floats([&](std::size_t g) { return vaddq_f32(x.v[g], y.v[g]); });
  }
  static TAKT_INLINE F sub(F x, F y) {
    return floats([&](std::size_t g) { return vsubq_f32(x.v[g], y.v[g]); });
  }
  static TAKT_INLINE F mul(F x, F y) {
    return floats([&](std::size_t g) { return vmulq_f32(x.v[g], y.v[g]); });
  }
  static TAKT_INLINE F div(F x, F y) {
    return floats([&](std::size_t g) { return vdivq_f32(x.v[g], y.v[g]); });
  }
  static TAKT_INLINE F fma(F x, F y, F z) {
    return floats([&](std::size_t g) { return vfmaq_f32(z.v[g], x.v[g], y.v[g]); });
  }
  static TAKT_INLINE float fma_one(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
  // By comparison: FMAX and FMIN give NaN where either operand is.
  static TAKT_INLINE float32x4_t larger(float32x4_t x, float32x4_t y) { return vbslq_f32(vcgtq_f32(x, y), x, y); }
  static TAKT_INLINE F max(F x, F y) {
    return floats([&](std::size_t g) { return larger(x.v[g], y.v[g]); });
  }
  static TAKT_INLINE F min(F x, F y) {
    return floats([&](std::size_t g) { return vbslq_f32(vcltq_f32(x.v[g], y.v[g]), x.v[g], y.v[g]); });
  }
  static TAKT_INLINE I less(F x, F y) {
    return ints([&](std::size_t g) { return vreinterpretq_s32_u32(vcltq_f32(x.v[g], y.v[g])); });
  }
  static TAKT_INLINE I less_int(I x, I y) {
    return ints([&](std::size_t g) { return vreinterpretq_s32_u32(vcltq_s32(x.v[g], y.v[g])); });
  }
  static TAKT_INLINE F select(I mask, F yes, F no) {
    return floats([&](std::size_t g) { return vbslq_f32(vreinterpretq_u32_s32(mask.v[g]), yes.v[g], no.v[g]); });
  }
  static TAKT_INLINE I bits(F x) {
    return ints([&](std::size_t g) { return vreinterpretq_s32_f32(x.v[g]); });
  }
  static TAKT_INLINE F from_bits(I x) {
    return floats([&](std::size_t g) { return vreinterpretq_f32_s32(x.v[g]); });
  }
  static TAKT_INLINE F to_float(I x) {
    return floats([&](std::size_t g) { return vcvtq_f32_s32(x.v[g]); });
  }
  static TAKT_INLINE I add_int(I x, I y) {
    return ints([&](std::size_t g) { return vaddq_s32(x.v[g], y.v[g]); });
  }
  static TAKT_INLINE I sub_int(I x, I y) {
    return ints([&](std::size_t g) { return vsubq_s32(x.v[g], y.v[g]); });
  }
  static TAKT_INLINE I max_int(I x, I y) {
    return ints([&](std::size_t g) { return vmaxq_s32(x.v[g], y.v[g]); });
  }
  static TAKT_INLINE I and_int(I x, I y) {
    return ints([&](std::size_t g) { return vandq_s32(x.v[g], y.v[g]); });
  }
  static TAKT_INLINE I or_int(I x, I y) {
    return ints([&](std::size_t g) { return vorrq_s32(x.v[g], y.v[g]); });
  }
  template <int kBits>
  static TAKT_INLINE I shift_left(I x) {
    return {vshlq_n_s32(x.v[0], kBits), vshlq_n_s32(x.v[1], kBits), vshlq_n_s32(x.v[2], kBits),
            vshlq_n_s32(x.v[3], kBits)};
  }
  template <int kBits>
  static TAKT_INLINE I shift_right_arithmetic(I x) {
    return {vshrq_n_s32(x.v[0], kBits), vshrq_n_s32(x.v[1], kBits), vshrq_n_s32(x.v[2], kBits),
            vshrq_n_s32(x.v[3], kBits)};
  }

  static TAKT_INLINE float sum(F x) {
    const float32x4_t four = vaddq_f32(vaddq_f32(x.v[0], x.v[2]), vaddq_f32(x.v[1], x.v[3]));
    const float32x2_t two = vadd_f32(vget_low_f32(four), vget_high_f32(four));
    return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
  }
  static TAKT_INLINE float max_of(F x) {
    const float32x4_t four = larger(larger(x.v[0], x.v[2]), larger(x.v[1], x.v[3]));
    const float32x4_t two = larger(four, vextq_f32(four, four, 2));
    return vgetq_lane_f32(larger(two, vextq_f32(two, two, 1)), 0);
  }
  static TAKT_INLINE std::int32_t sum_int(I x) {
    return vaddvq_s32(vaddq_s32(vaddq_s32(x.v[0], x.v[1]), vaddq_s32(x.v[2], x.v[3])));
  }
  static TAKT_INLINE std::int32_t max_of_int(I x) {
    return vmaxvq_s32(vmaxq_s32(vmaxq_s32(x.v[0], x.v[1]), vmaxq_s32(x.v[2], x.v[3])));
  }

  template <int R>
  static TAKT_INLINE void dot_nibbles(const std::uint8_t* lines, const std::int8_t* x, std::size_t stride,
                                      I (&dots)[R]) {
    zero<R>(dots);
    const Rows<R> rows(x, stride);
    add_first_half<R>([&](auto j, std::size_t g) { return low_nibbles(lines, j(), g); }, rows, dots);
    add_second_half<R>([&](auto j, std::size_t g) { return high_nibbles(lines, j(), g); }, rows, dots);
  }

  template <int R>
  static TAKT_INLINE void dot_five_bits(const std::uint8_t* lines, const std::uint8_t* fifth, const std::int8_t* x,
                                        std::size_t stride, I (&dots)[R]) {
    zero<R>(dots);
    const Rows<R> rows(x, stride);
    add_first_half<R>(
        [&](auto j, std::size_t g) { return vorrq_s8(low_nibbles(lines, j(), g), bits_at<16>(fifth, g, 4 - j())); },
        rows, dots);
    add_second_half<R>(
        [&](auto j, std::size_t g) { return vorrq_s8(high_nibbles(lines, j(), g), bits_at<16>(fifth, g, -j())); }, rows,
        dots);
  }

  template <int R>
  static TAKT_INLINE void add_six_bits_scaled(const std::uint8_t* lines, const std::int8_t* x, std::size_t stride,
                                              I scales, I (&sums)[R]) {
    const Rows<R> rows(x, stride);
    I dots[R];
    zero<R>(dots);
    add_first_half<R>([&](auto j, std::size_t g) { return six_bits(lines, j(), g); }, rows, dots);
    add_scaled<R>(dots, shift_right_arithmetic<16>(shift_left<16>(scales)), sums);
    zero<R>(dots);
    add_second_half<R>([&](auto j, std::size_t g) { return six_bits(lines + 3 * kLine, j(), g); }, rows, dots);
    add_scaled<R>(dots, shift_right_arithmetic<16>(scales), sums);
  }

  template <int R>
  static TAKT_INLINE void dot_levels(const std::uint8_t* lines, const std::int8_t* levels, const std::int8_t* x,
                                     std::size_t stride, I (&dots)[R]) {
    zero<R>(dots);
    const Rows<R> rows(x, stride);
    const int8x16_t table = vld1q_s8(levels);
    const auto look_up = [&](int8x16_t codes) { return vqtbl1q_s8(table, vreinterpretq_u8_s8(codes)); };
    add_first_half<R>([&](auto j, std::size_t g) { return look_up(low_nibbles(lines, j(), g)); }, rows, dots);
    add_second_half<R>([&](auto j, std::size_t g) { return look_up(high_nibbles(lines, j(), g)); }, rows, dots);
  }

  template <int R>
  static TAKT_INLINE void dot_bytes(const std::int8_t* lines, const std::int8_t* x, std::size_t stride, I (&dots)[R]) {
    zero<R>(dots);
    const Rows<R> rows(x, stride);
    add_first_half<R>([&](auto j, std::size_t g) { return vld1q_s8(lines + kLine * j() + 16 * g); }, rows, dots);
    add_second_half<R>([&](auto j, std::size_t g) { return vld1q_s8(lines + kLine * (4 + j()) + 16 * g); }, rows, dots);
  }

  static TAKT_INLINE I multiply_add_pairs(I x, I y) {
    return ints([&](std::size_t g) {
      const int16x8_t a = vreinterpretq_s16_s32(x.v[g]);
      const int16x8_t b = vreinterpretq_s16_s32(y.v[g]);
      return vpaddq_s32(vmull_s16(vget_low_s16(a), vget_low_s16(b)), vmull_s16(vget_high_s16(a), vget_high_s16(b)));
    });
  }

 private:
  static constexpr std::size_t kLine = 64;

  template <typename Op>
  static TAKT_INLINE F floats(const Op& op) {
    return {op(0), op(1), op(2), op(3)};
  }
  template <typename Op>
  static TAKT_INLINE I ints(const Op& op) {
    return {op(0), op(1), op(2), op(3)};
  }
  template <int R>
  static TAKT_INLINE void zero(I (&sums)[R]) {
    for (int r = 0; r < R; ++r) sums[r] = broadcast_int(0);
  }

  // 32 activations of each row.
  template <int R>
  struct Rows {
    int8x16_t first[R];
    int8x16_t second[R];
    TAKT_INLINE Rows(const std::int8_t* x, std::size_t stride) {
      for (int r = 0; r < R; ++r) {
        first[r] = vld1q_s8(x + static_cast<std::size_t>(r) * stride);
        second[r] = vld1q_s8(x + static_cast<std::size_t>(r) * stride + 16);
      }
    }
  };

  template <int kValue>
  struct Constant {
    constexpr int operator()() const { return kValue; }
  };

  // weights(j, g): of the lanes 4g to 4g + 3, four k from 4j on.
  template <int R, typename Weights>
  static TAKT_INLINE void add_first_half(const Weights& weights, const Rows<R>& rows, I (&sums)[R]) {
    add_four<R, 0>(weights, rows.first, sums);
    add_four<R, 1>(weights, rows.first, sums);
    add_four<R, 2>(weights, rows.first, sums);
    add_four<R, 3>(weights, rows.first, sums);
  }
  template <int R, typename Weights>
  static TAKT_INLINE void add_second_half(const Weights& weights, const Rows<R>& rows, I (&sums)[R]) {
    add_four<R, 0>(weights, rows.second, sums);
    add_four<R, 1>(weights, rows.second, sums);
    add_four<R, 2>(weights, rows.second, sums);
    add_four<R, 3>(weights, rows.second, sums);
  }
  template <int R, int kLane, typename Weights>
  static TAKT_INLINE void add_four(const Weights& weights, const int8x16_t (&x)[R], I (&sums)[R]) {
#pragma GCC unroll 4
    for (std::size_t g = 0; g < kRegisters; ++g) {
      const int8x16_t w = weights(Constant<kLane>{}, g);
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) sums[r].v[g] = Dot::template add<kLane>(sums[r].v[g], w, x[r]);
    }
  }

  static TAKT_INLINE int8x16_t low_nibbles(const std::uint8_t* lines, int j, std::size_t g) {
    const uint8x16_t packed = vld1q_u8(lines + kLine * static_cast<std::size_t>(j) + 16 * g);
    return vreinterpretq_s8_u8(vandq_u8(packed, vdupq_n_u8(15)));
  }
  static TAKT_INLINE int8x16_t high_nibbles(const std::uint8_t* lines, int j, std::size_t g) {
    return vreinterpretq_s8_u8(vshrq_n_u8(vld1q_u8(lines + kLine * static_cast<std::size_t>(j) + 16 * g), 4));
  }
  // The bits of the mask after a shift to the left (to the right where it is negative).
  template <int kMask>
  static TAKT_INLINE int8x16_t bits_at(const std::uint8_t* line, std::size_t g, int left) {
    const uint8x16_t moved = vshlq_u8(vld1q_u8(line + 16 * g), vdupq_n_s8(static_cast<std::int8_t>(left)));
    return vreinterpretq_s8_u8(vandq_u8(moved, vdupq_n_u8(kMask)));
  }
  // Four k from 4j on of the 16 that three lines hold; the last four are in the upper bits of the others.
  static TAKT_INLINE int8x16_t six_bits(const std::uint8_t* lines, int j, std::size_t g) {
    const auto line = [&](int i) { return vld1q_u8(lines + kLine * static_cast<std::size_t>(i) + 16 * g); };
    if (j < 3) return vreinterpretq_s8_u8(vandq_u8(line(j), vdupq_n_u8(63)));
    const uint8x16_t low = vorrq_u8(vshrq_n_u8(line(0), 6), vandq_u8(vshrq_n_u8(line(1), 4), vdupq_n_u8(12)));
    return vreinterpretq_s8_u8(vorrq_u8(low, vandq_u8(vshrq_n_u8(line(2), 2), vdupq_n_u8(48))));
  }
  template <int R>
  static TAKT_INLINE void add_scaled(const I (&dots)[R], I scales, I (&sums)[R]) {
    for (int r = 0; r < R; ++r) {
      for (std::size_t g = 0; g < kRegisters; ++g) sums[r].v[g] = vmlaq_s32(sums[r].v[g], scales.v[g], dots[r].v[g]);
    }
  }
};

}  // namespace takt
