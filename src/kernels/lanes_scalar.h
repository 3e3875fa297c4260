// Virtual lanes in plain C++: the definition that every instruction set has to equal, bit for bit.
//
// A lanes type offers: F (kWidth floats), I (kWidth int32), the operations below on them, and the integer dot products
// of quantised blocks. Kernels are templates over it (matmul_kernels.h, attention_kernels.h, row_kernels.h).
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/half.h"
#include "kernels/numerics.h"

namespace takt {

template <std::size_t W>
struct PlainLanes {
  static constexpr std::size_t kWidth = W;
  struct F {
    float v[W];
  };
  struct I {
    std::int32_t v[W];
  };

  template <typename Op>
  static F each(Op op) {
    F r;
    for (std::size_t i = 0; i < W; ++i) r.v[i] = op(i);
    return r;
  }
  template <typename Op>
  static I each_int(Op op) {
    I r;
    for (std::size_t i = 0; i < W; ++i) r.v[i] = static_cast<std::int32_t>(op(i));
    return r;
  }

  static F load(const float* p) {
    return each([&](std::size_t i) { return p[i]; });
  }
  static F load_half(const std::uint16_t* p) {
    return each([&](std::size_t i) { return half_to_float(p[i]); });
  }
  static F load_bfloat(const std::uint16_t* p) {
    return each([&](std::size_t i) { return bfloat16_to_float(p[i]); });
  }
  static I load_u8(const std::uint8_t* p) {
    return each_int([&](std::size_t i) { return p[i]; });
  }
  static I load_i8(const std::int8_t* p) {
    return each_int([&](std::size_t i) { return p[i]; });
  }
  // 32 bytes; the lane's two 16-bit halves hold the bytes 2 * lane and 2 * lane + 1.
  static I load_i8_pairs(const std::int8_t* p) {
    return each_int([&](std::size_t i) {
      return (p[2 * i] & 0xFFFF) | static_cast<std::int32_t>(static_cast<std::uint32_t>(p[2 * i + 1]) << 16U);
    });
  }
  static void store(float* p, F a) {
    for (std::size_t i = 0; i < W; ++i) p[i] = a.v[i];
  }
  static void store_half(std::uint16_t* p, F a) {
    for (std::size_t i = 0; i < W; ++i) p[i] = float_to_half(a.v[i]);
  }
  // Integers that fit.
  static void store_i8(std::int8_t* p, I a) {
    for (std::size_t i = 0; i < W; ++i) p[i] = static_cast<std::int8_t>(a.v[i]);
  }
  static F broadcast(float a) {
    return each([&](std::size_t) { return a; });
  }
  static I broadcast_int(std::int32_t a) {
    return each_int([&](std::size_t) { return a; });
  }
  static I iota() {
    return each_int([&](std::size_t i) { return i; });
  }

  static F add(F a, F b) {
    return each([&](std::size_t i) { return a.v[i] + b.v[i]; });
  }
  static F sub(F a, F b) {
    return each([&](std::size_t i) { return a.v[i] - b.v[i]; });
  }
  static F mul(F a, F b) {
    return each([&](std::size_t i) { return a.v[i] * b.v[i]; });
  }
  static F div(F a, F b) {
    return each([&](std::size_t i) { return a.v[i] / b.v[i]; });
  }
  static F fma(F a, F b, F c) {
    return each([&](std::size_t i) { return std::fma(a.v[i], b.v[i], c.v[i]); });
  }
  static float fma_one(float a, float b, float c) { return std::fma(a, b, c); }
  // b where the comparison is false, so b when either is NaN.
  static F max(F a, F b) {
    return each([&](std::size_t i) { return a.v[i] > b.v[i] ? a.v[i] : b.v[i]; });
  }
  static F min(F a, F b) {
    return each([&](std::size_t i) { return a.v[i] < b.v[i] ? a.v[i] : b.v[i]; });
  }
  // All bits of a lane set where true.
  static I less(F a, F b) {
    return each_int([&](std::size_t i) { return a.v[i] < b.v[i] ? -1 : 0; });
  }
  static I less_int(I a, I b) {
    return each_int([&](std::size_t i) { return a.v[i] < b.v[i] ? -1 : 0; });
  }
  static F select(I mask, F yes, F no) {
    return each([&](std::size_t i) { return mask.v[i] != 0 ? yes.v[i] : no.v[i]; });
  }
  static I bits(F a) {
    return each_int([&](std::size_t i) { return std::bit_cast<std::int32_t>(a.v[i]); });
  }
  static F from_bits(I a) {
    return each([&](std::size_t i) { return std::bit_cast<float>(a.v[i]); });
  }
  static F to_float(I a) {
    return each([&](std::size_t i) { return static_cast<float>(a.v[i]); });
  }
  // Modulo 2^32.
  static I add_int(I a, I b) {
    return each_int(
        [&](std::size_t i) { return static_cast<std::uint32_t>(a.v[i]) + static_cast<std::uint32_t>(b.v[i]); });
  }
  static I sub_int(I a, I b) {
    return each_int(
        [&](std::size_t i) { return static_cast<std::uint32_t>(a.v[i]) - static_cast<std::uint32_t>(b.v[i]); });
  }
  static I max_int(I a, I b) {
    return each_int([&](std::size_t i) { return a.v[i] > b.v[i] ? a.v[i] : b.v[i]; });
  }
  static I and_int(I a, I b) {
    return each_int([&](std::size_t i) { return a.v[i] & b.v[i]; });
  }
  static I or_int(I a, I b) {
    return each_int([&](std::size_t i) { return a.v[i] | b.v[i]; });
  }
  template <int kBits>
  static I shift_left(I a) {
    return each_int([&](std::size_t i) { return static_cast<std::uint32_t>(a.v[i]) << kBits; });
  }
  template <int kBits>
  static I shift_right_arithmetic(I a) {
    return each_int([&](std::size_t i) { return a.v[i] >> kBits; });
  }

  // Fixed trees: lanes i and i + 8, then i and i + 4, 2, 1.
  static float sum(F a) {
    for (std::size_t half = W / 2; half > 0; half /= 2) {
      for (std::size_t i = 0; i < half; ++i) a.v[i] = a.v[i] + a.v[i + half];
    }
    return a.v[0];
  }
  static float max_of(F a) {
    for (std::size_t half = W / 2; half > 0; half /= 2) {
      for (std::size_t i = 0; i < half; ++i) a.v[i] = a.v[i] > a.v[i + half] ? a.v[i] : a.v[i + half];
    }
    return a.v[0];
  }
  static std::int32_t sum_int(I a) {
    std::int32_t total = 0;
    for (const std::int32_t v : a.v) total += v;
    return total;
  }
  static std::int32_t max_of_int(I a) {
    std::int32_t most = a.v[0];
    for (const std::int32_t v : a.v) most = v > most ? v : most;
    return most;
  }

  // sum over 32 k of nibble(lane, k) * x[k] for R rows of int8 activations, `stride` bytes apart. `lines`: four lines
  // of 64 bytes; in line j, dword `lane`, byte b: low nibble k = 4j + b, high nibble k = 16 + 4j + b. Nibbles are
  // 0..15.
  template <int R>
  static void dot_nibbles(const std::uint8_t* lines, const std::int8_t* x, std::size_t stride, I (&dots)[R]) {
    for (int r = 0; r < R; ++r) {
      const std::int8_t* row = x + static_cast<std::size_t>(r) * stride;
      dots[r] = each_int([&](std::size_t lane) {
        std::int32_t dot = 0;
        for (std::size_t k = 0; k < kActivationBlock; ++k) dot += nibble(lines, lane, k) * std::int32_t{row[k]};
        return dot;
      });
    }
  }

  // The same for five bits, 0..31: `fifth` is the line of the fifth bits (StripeQ5_0).
  template <int R>
  static void dot_five_bits(const std::uint8_t* lines, const std::uint8_t* fifth, const std::int8_t* x,
                            std::size_t stride, I (&dots)[R]) {
    for (int r = 0; r < R; ++r) {
      dots[r] = dot_each(x + static_cast<std::size_t>(r) * stride, 0, kActivationBlock, [&](std::size_t lane, auto k) {
        const std::int32_t bit = (fifth[lane * 4 + k % 4] >> (k / 16 * 4 + k % 16 / 4)) & 1;
        return nibble(lines, lane, k) + 16 * bit;
      });
    }
  }

  // sums += first(lane) * the dot product of the first 16 k + second(lane) * that of the others, for six bits, 0..63
  // (lines: StripeQ6_K). `scales`: the signed scales first and second in the halves of each lane.
  template <int R>
  static void add_six_bits_scaled(const std::uint8_t* lines, const std::int8_t* x, std::size_t stride, I scales,
                                  I (&sums)[R]) {
    const auto weight = [&](std::size_t lane, std::size_t k) -> std::int32_t {
      const auto byte = [&](std::size_t line) -> std::int32_t {
        return lines[(k / 16 * 3 + line) * 64 + lane * 4 + k % 4];
      };
      const std::size_t line = k % 16 / 4;
      return line < 3 ? byte(line) & 63 : (byte(0) >> 6) | (byte(1) >> 6 << 2) | (byte(2) >> 6 << 4);
    };
    for (int r = 0; r < R; ++r) {
      const std::int8_t* row = x + static_cast<std::size_t>(r) * stride;
      const I first = dot_each(row, 0, 16, weight);
      const I second = dot_each(row, 16, 32, weight);
      for (std::size_t i = 0; i < W; ++i)
        sums[r].v[i] += static_cast<std::int16_t>(scales.v[i]) * first.v[i] + (scales.v[i] >> 16) * second.v[i];
    }
  }

  // The same for the levels of the non-linear 4-bit types; `levels`: the 16 of them.
  template <int R>
  static void dot_levels(const std::uint8_t* lines, const std::int8_t* levels, const std::int8_t* x, std::size_t stride,
                         I (&dots)[R]) {
    for (int r = 0; r < R; ++r) {
      dots[r] = dot_each(x + static_cast<std::size_t>(r) * stride, 0, kActivationBlock,
                         [&](std::size_t lane, auto k) { return std::int32_t{levels[nibble(lines, lane, k)]}; });
    }
  }

  // The same for int8 weights: eight lines of 64 bytes; in line j, dword `lane`, byte b: k = 4j + b. Activations are
  // -127..127.
  template <int R>
  static void dot_bytes(const std::int8_t* lines, const std::int8_t* x, std::size_t stride, I (&dots)[R]) {
    for (int r = 0; r < R; ++r) {
      const std::int8_t* row = x + static_cast<std::size_t>(r) * stride;
      dots[r] = each_int([&](std::size_t lane) {
        std::int32_t dot = 0;
        for (std::size_t k = 0; k < kActivationBlock; ++k) {
          dot += std::int32_t{lines[(k / 4) * 64 + lane * 4 + k % 4]} * std::int32_t{row[k]};
        }
        return dot;
      });
    }
  }

  // sum of the products of the signed 16-bit halves of a lane: a.low * b.low + a.high * b.high.
  static I multiply_add_pairs(I a, I b) {
    return each_int([&](std::size_t i) {
      const auto low =
          std::int32_t{static_cast<std::int16_t>(a.v[i])} * std::int32_t{static_cast<std::int16_t>(b.v[i])};
      return low + (a.v[i] >> 16) * (b.v[i] >> 16);
    });
  }

 private:
  // sum of weight(lane, k) * x[k] over k in [begin, end).
  template <typename Weight>
  static I dot_each(const std::int8_t* x, std::size_t begin, std::size_t end, const Weight& weight) {
    return each_int([&](std::size_t lane) {
      std::int32_t dot = 0;
      for (std::size_t k = begin; k < end; ++k) dot += weight(lane, k) * std::int32_t{x[k]};
      return dot;
    });
  }

  static std::int32_t nibble(const std::uint8_t* lines, std::size_t lane, std::size_t k) {
    const std::uint8_t byte = lines[(k % 16 / 4) * 64 + lane * 4 + k % 4];
    return k < 16 ? byte & 15 : byte >> 4;
  }
};

using ScalarLanes = PlainLanes<kLanes>;

}  // namespace takt
