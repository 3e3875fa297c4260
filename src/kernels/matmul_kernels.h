// Products of weight stripes and activation rows over any lanes type. The order of every addition is
// docs/numerics.md's.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/row_groups.h"
#include "kernels/stripe_layout.h"

namespace takt {

template <typename L>
struct MatmulKernels {
  using F = typename L::F;
  using I = typename L::I;

  static void q4_0(const StripeProduct& p) { in_row_groups<Blocks<Q4_0>>(p); }
  static void q4_1(const StripeProduct& p) { in_row_groups<Blocks<Q4_1>>(p); }
  static void q5_0(const StripeProduct& p) { in_row_groups<Blocks<Q5_0>>(p); }
  static void q5_1(const StripeProduct& p) { in_row_groups<Blocks<Q5_1>>(p); }
  static void q8_0(const StripeProduct& p) { in_row_groups<Blocks<Q8_0>>(p); }
  static void iq4_nl(const StripeProduct& p) { in_row_groups<Blocks<IQ4_NL>>(p); }
  static void q4_k(const StripeProduct& p) { in_row_groups<Blocks<Q4_K>>(p); }
  static void q5_k(const StripeProduct& p) { in_row_groups<Blocks<Q5_K>>(p); }
  static void q6_k(const StripeProduct& p) { in_row_groups<Blocks<Q6_K>>(p); }
  static void iq4_xs(const StripeProduct& p) { in_row_groups<Blocks<IQ4_XS>>(p); }

  static void tile(const TileProduct& p) {
    in_even_groups(0, p.rows, [&p](auto size, std::size_t row) { tile_rows<size()>(p, row); });
  }

  // n values, a multiple of 16.
  static void widen_half(const std::uint16_t* in, float* out, std::size_t n) {
    for (std::size_t i = 0; i < n; i += kLanes) L::store(out + i, L::load_half(in + i));
  }
  static void widen_bfloat(const std::uint16_t* in, float* out, std::size_t n) {
    for (std::size_t i = 0; i < n; i += kLanes) L::store(out + i, L::load_bfloat(in + i));
  }

 private:
  // One unpack of the weights serves a group of rows.
  template <typename Format>
  static void in_row_groups(const StripeProduct& p) {
    in_even_groups(0, p.rows, [&p](auto size, std::size_t row) { Format::template rows<size()>(p, row); });
  }

  // Weights are read once, in one stream, while the arithmetic of earlier blocks runs; the hardware's own prefetching
  // stops at each page. Behind the stripe the next one follows, which is most often the same thread's next work.
  // Lines are asked for a few at a time, beside each block of 32: all those of a stripe block at once fill the queue of
  // outstanding loads, and the arithmetic behind them waits.
  static constexpr std::size_t kPrefetchBytes = 3072;
  template <typename Format>
  static void prefetch_ahead(const typename Format::Stripe& stripe, std::size_t block) {
    constexpr std::size_t kPart = sizeof(typename Format::Stripe) / Format::kBlocks;
    const std::uintptr_t ahead =
        reinterpret_cast<std::uintptr_t>(&stripe) + kPrefetchBytes + block * kPart;  // may lie behind the end
    for (std::size_t at = 0; at < kPart; at += 64) __builtin_prefetch(reinterpret_cast<const void*>(ahead + at));
  }

  static constexpr int kOffsetUnit = 8;  // of QuantisedRows::offsets

  // One block of 32 of a group of rows.
  struct BlockRows {
    const std::int8_t* values;
    std::size_t stride;
    const std::int16_t* half_sums;
    std::size_t half_sums_stride;
  };

  template <int R>
  static void store_rows(const StripeProduct& p, std::size_t first, const F (&acc)[R]) {
    for (int r = 0; r < R; ++r) L::store(p.out + (first + static_cast<std::size_t>(r)) * kLanes, acc[r]);
  }

  // Per type: how many blocks of 32 a stripe block holds, and of each the integer products, the scale and the minimum.
  // kOffset: weights are kOffset less than stored. Products of a half-float scale and a sub-scale of at most eight bits
  // are exact.
  template <typename S>
  struct PlainScales {
    using Stripe = S;
    static constexpr std::size_t kBlocks = 1;
    static constexpr int kOffset = 0;
    static constexpr bool kMins = false;
    [[gnu::always_inline]] explicit PlainScales(const Stripe&) {}
    [[gnu::always_inline]] static F scale(const Stripe& s, std::size_t) { return L::load_half(s.scales); }
  };
  template <typename S>
  struct PlainScalesAndMins : PlainScales<S> {
    using PlainScales<S>::PlainScales;
    static constexpr bool kMins = true;
    [[gnu::always_inline]] static F min(const S& s, std::size_t) { return L::load_half(s.mins); }
  };
  // One scale for all the blocks of a stripe block.
  template <typename S>
  struct SharedScales {
    using Stripe = S;
    static constexpr std::size_t kBlocks = 8;
    static constexpr int kOffset = 0;
    static constexpr bool kMins = false;
    F scales;
    [[gnu::always_inline]] explicit SharedScales(const Stripe& s) : scales(L::load_half(s.scales)) {}
    [[gnu::always_inline]] F scale(const Stripe&, std::size_t) const { return scales; }
  };
  template <typename S>
  struct SubScalesAndMins {
    using Stripe = S;
    static constexpr std::size_t kBlocks = 8;
    static constexpr int kOffset = 0;
    static constexpr bool kMins = true;
    F scales;
    F mins;
    [[gnu::always_inline]] explicit SubScalesAndMins(const Stripe& s)
        : scales(L::load_half(s.scales)), mins(L::sub(L::broadcast(-0.0F), L::load_half(s.mins))) {}
    [[gnu::always_inline]] F scale(const Stripe& s, std::size_t block) const {
      return L::mul(scales, L::to_float(L::load_u8(s.sub_scales[block])));
    }
    [[gnu::always_inline]] F min(const Stripe& s, std::size_t block) const {
      return L::mul(mins, L::to_float(L::load_u8(s.sub_mins[block])));
    }
  };

  struct Q4_0 : PlainScales<StripeQ4_0> {
    using PlainScales<StripeQ4_0>::PlainScales;
    static constexpr int kOffset = 8;
    template <int R>
    [[gnu::always_inline]] static void dot(const StripeQ4_0& s, std::size_t, const BlockRows& x, I (&dots)[R]) {
      L::template dot_nibbles<R>(s.lines, x.values, x.stride, dots);
    }
  };
  struct Q4_1 : PlainScalesAndMins<StripeQ4_1> {
    using PlainScalesAndMins<StripeQ4_1>::PlainScalesAndMins;
    template <int R>
    [[gnu::always_inline]] static void dot(const StripeQ4_1& s, std::size_t, const BlockRows& x, I (&dots)[R]) {
      L::template dot_nibbles<R>(s.lines, x.values, x.stride, dots);
    }
  };
  struct Q5_0 : PlainScales<StripeQ5_0> {
    using PlainScales<StripeQ5_0>::PlainScales;
    static constexpr int kOffset = 16;
    template <int R>
    [[gnu::always_inline]] static void dot(const StripeQ5_0& s, std::size_t, const BlockRows& x, I (&dots)[R]) {
      L::template dot_five_bits<R>(s.lines, s.fifth_bits, x.values, x.stride, dots);
    }
  };
  struct Q5_1 : PlainScalesAndMins<StripeQ5_1> {
    using PlainScalesAndMins<StripeQ5_1>::PlainScalesAndMins;
    template <int R>
    [[gnu::always_inline]] static void dot(const StripeQ5_1& s, std::size_t, const BlockRows& x, I (&dots)[R]) {
      L::template dot_five_bits<R>(s.lines, s.fifth_bits, x.values, x.stride, dots);
    }
  };
  struct Q8_0 : PlainScales<StripeQ8_0> {
    using PlainScales<StripeQ8_0>::PlainScales;
    template <int R>
    [[gnu::always_inline]] static void dot(const StripeQ8_0& s, std::size_t, const BlockRows& x, I (&dots)[R]) {
      L::template dot_bytes<R>(s.lines, x.values, x.stride, dots);
    }
  };
  struct IQ4_NL : PlainScales<StripeQ4_0> {
    using PlainScales<StripeQ4_0>::PlainScales;
    template <int R>
    [[gnu::always_inline]] static void dot(const StripeQ4_0& s, std::size_t, const BlockRows& x, I (&dots)[R]) {
      L::template dot_levels<R>(s.lines, kNonLinearLevels, x.values, x.stride, dots);
    }
  };
  struct Q4_K : SubScalesAndMins<StripeQ4_K> {
    using SubScalesAndMins<StripeQ4_K>::SubScalesAndMins;
    template <int R>
    [[gnu::always_inline]] static void dot(const StripeQ4_K& s, std::size_t block, const BlockRows& x, I (&dots)[R]) {
      L::template dot_nibbles<R>(s.lines[block], x.values, x.stride, dots);
    }
  };
  struct Q5_K : SubScalesAndMins<StripeQ5_K> {
    using SubScalesAndMins<StripeQ5_K>::SubScalesAndMins;
    template <int R>
    [[gnu::always_inline]] static void dot(const StripeQ5_K& s, std::size_t block, const BlockRows& x, I (&dots)[R]) {
      L::template dot_five_bits<R>(s.lines[block], s.fifth_bits[block], x.values, x.stride, dots);
    }
  };
  struct Q6_K : SharedScales<StripeQ6_K> {
    using SharedScales<StripeQ6_K>::SharedScales;
    static constexpr int kShiftOfOffset = 5;  // weights are 32 less than stored
    template <int R>
    [[gnu::always_inline]] static void dot(const StripeQ6_K& s, std::size_t block, const BlockRows& x, I (&dots)[R]) {
      const I pairs = L::load_i8_pairs(s.sub_scales[block][0]);
      for (int r = 0; r < R; ++r) {
        std::int32_t sums;
        __builtin_memcpy(&sums, x.half_sums + static_cast<std::size_t>(r) * x.half_sums_stride, sizeof sums);
        const I offset = L::multiply_add_pairs(pairs, L::broadcast_int(sums));
        dots[r] = L::sub_int(L::broadcast_int(0), L::template shift_left<kShiftOfOffset>(offset));
      }
      L::template add_six_bits_scaled<R>(s.lines[block], x.values, x.stride, pairs, dots);
    }
  };
  struct IQ4_XS : SharedScales<StripeIQ4_XS> {
    using SharedScales<StripeIQ4_XS>::SharedScales;
    template <int R>
    [[gnu::always_inline]] static void dot(const StripeIQ4_XS& s, std::size_t block, const BlockRows& x, I (&dots)[R]) {
      L::template dot_levels<R>(s.lines[block], kNonLinearLevels, x.values, x.stride, dots);
    }
    [[gnu::always_inline]] F scale(const StripeIQ4_XS& s, std::size_t block) const {
      return L::mul(this->scales, L::to_float(L::load_i8(s.sub_scales[block])));
    }
  };

  template <typename Format>
  struct Blocks {
    template <int R>
    static void rows(const StripeProduct& p, std::size_t first) {
      using Stripe = typename Format::Stripe;
      const auto* stripe = static_cast<const Stripe*>(p.stripe);
      const std::size_t at = first * p.x.block_stride;
      F acc[R];
      for (int r = 0; r < R; ++r) acc[r] = L::broadcast(0.0F);
      for (std::size_t block = 0; block < p.blocks; ++stripe) {
        // Before the scales of a single block are loaded: behind them, GCC 12 orders its loads worse (2 %).
        if (Format::kBlocks == 1 && first == 0) prefetch_ahead<Format>(*stripe, 0);
        const Format format(*stripe);
        for (std::size_t i = 0; i < Format::kBlocks; ++i, ++block) {
          if (Format::kBlocks > 1 && first == 0) prefetch_ahead<Format>(*stripe, i);
          add_block<R>(*stripe, format, i, p.x, first * p.x.value_stride + block * kActivationBlock, at + block, acc);
        }
      }
      store_rows<R>(p, first, acc);
    }

   private:
    // Block `i` of the stripe block; `values` and `at`: where the first row's values and the block's numbers lie.
    template <int R>
    [[gnu::always_inline]] static void add_block(const typename Format::Stripe& stripe, const Format& format,
                                                 std::size_t i, const QuantisedRows& x, std::size_t values,
                                                 std::size_t at, F (&acc)[R]) {
      I dots[R];
      Format::template dot<R>(stripe, i, {x.values + values, x.value_stride, x.half_sums + 2 * at, 2 * x.block_stride},
                              dots);
      const F weight_scales = format.scale(stripe, i);
      for (int r = 0; r < R; ++r) {
        const std::size_t number = at + static_cast<std::size_t>(r) * x.block_stride;
        if constexpr (Format::kOffset != 0)
          dots[r] = L::add_int(dots[r], L::broadcast_int(x.offsets[number] * (Format::kOffset / kOffsetUnit)));
        acc[r] = L::fma(L::to_float(dots[r]), L::mul(weight_scales, L::broadcast(x.scales[number])), acc[r]);
        if constexpr (Format::kMins)
          acc[r] = L::fma(format.min(stripe, i), L::broadcast(x.scaled_sums[number]), acc[r]);
      }
    }
  };

  template <int R>
  static void tile_rows(const TileProduct& p, std::size_t first) {
    const float* x = p.x + first * p.x_stride;
    float* sums = p.sums + first * kLanes;
    F acc[R];
    for (int r = 0; r < R; ++r) acc[r] = L::load(sums + static_cast<std::size_t>(r) * kLanes);
    for (std::size_t k = 0; k < p.depth; ++k) {
      const F weights = L::load(p.tile + k * kLanes);
      for (int r = 0; r < R; ++r)
        acc[r] = L::fma(weights, L::broadcast(x[static_cast<std::size_t>(r) * p.x_stride + k]), acc[r]);
    }
    for (int r = 0; r < R; ++r) L::store(sums + static_cast<std::size_t>(r) * kLanes, acc[r]);
  }
};

}  // namespace takt
