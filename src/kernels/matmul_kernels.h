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

  static void q4_0(const StripeProduct& p) { in_row_groups<Q4_0>(p); }
  static void q4_1(const StripeProduct& p) { in_row_groups<Q4_1>(p); }
  static void q8_0(const StripeProduct& p) { in_row_groups<Q8_0>(p); }
  static void q4_k(const StripeProduct& p) { in_row_groups<Q4_K>(p); }

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
  static constexpr std::size_t kPrefetchBytes = 3072;
  template <typename Stripe>
  static void prefetch_ahead(const Stripe& block) {
    const std::uintptr_t ahead = reinterpret_cast<std::uintptr_t>(&block) + kPrefetchBytes;  // may lie behind the end
    for (std::size_t at = 0; at < sizeof(Stripe); at += 64)
      __builtin_prefetch(reinterpret_cast<const void*>(ahead + at));
  }

  template <int R>
  static void store_rows(const StripeProduct& p, std::size_t first, const F (&acc)[R]) {
    for (int r = 0; r < R; ++r) L::store(p.out + (first + static_cast<std::size_t>(r)) * kLanes, acc[r]);
  }

  struct Q4_0 {
    template <int R>
    static void rows(const StripeProduct& p, std::size_t first) {
      const auto* stripe = static_cast<const StripeQ4_0*>(p.stripe);
      const std::int8_t* x = p.x.values + first * p.x.value_stride;
      const float* scales = p.x.scales + first * p.x.block_stride;
      const auto* offsets = static_cast<const std::int32_t*>(p.x.sums) + first * p.x.block_stride;
      F acc[R];
      for (int r = 0; r < R; ++r) acc[r] = L::broadcast(0.0F);
      for (std::size_t block = 0; block < p.blocks; ++block) {
        if (first == 0) prefetch_ahead(stripe[block]);
        I dots[R];
        L::template dot_nibbles<R>(stripe[block].lines, x + block * kActivationBlock, p.x.value_stride, dots);
        const F weight_scales = L::load_half(stripe[block].scales);
        for (int r = 0; r < R; ++r) {
          const std::size_t at = static_cast<std::size_t>(r) * p.x.block_stride + block;
          const I dot = L::add_int(dots[r], L::broadcast_int(offsets[at]));
          acc[r] = L::fma(L::to_float(dot), L::mul(weight_scales, L::broadcast(scales[at])), acc[r]);
        }
      }
      store_rows<R>(p, first, acc);
    }
  };

  struct Q4_1 {
    template <int R>
    static void rows(const StripeProduct& p, std::size_t first) {
      const auto* stripe = static_cast<const StripeQ4_1*>(p.stripe);
      const std::int8_t* x = p.x.values + first * p.x.value_stride;
      const float* scales = p.x.scales + first * p.x.block_stride;
      const float* scaled_sums = p.x.scaled_sums + first * p.x.block_stride;
      F acc[R];
      for (int r = 0; r < R; ++r) acc[r] = L::broadcast(0.0F);
      for (std::size_t block = 0; block < p.blocks; ++block) {
        if (first == 0) prefetch_ahead(stripe[block]);
        I dots[R];
        L::template dot_nibbles<R>(stripe[block].lines, x + block * kActivationBlock, p.x.value_stride, dots);
        const F weight_scales = L::load_half(stripe[block].scales);
        const F weight_mins = L::load_half(stripe[block].mins);
        for (int r = 0; r < R; ++r) {
          const std::size_t at = static_cast<std::size_t>(r) * p.x.block_stride + block;
          acc[r] = L::fma(L::to_float(dots[r]), L::mul(weight_scales, L::broadcast(scales[at])), acc[r]);
          acc[r] = L::fma(weight_mins, L::broadcast(scaled_sums[at]), acc[r]);
        }
      }
      store_rows<R>(p, first, acc);
    }
  };

  struct Q8_0 {
    template <int R>
    static void rows(const StripeProduct& p, std::size_t first) {
      const auto* stripe = static_cast<const StripeQ8_0*>(p.stripe);
      const std::int8_t* x = p.x.values + first * p.x.value_stride;
      const float* scales = p.x.scales + first * p.x.block_stride;
      F acc[R];
      for (int r = 0; r < R; ++r) acc[r] = L::broadcast(0.0F);
      for (std::size_t block = 0; block < p.blocks; ++block) {
        if (first == 0) prefetch_ahead(stripe[block]);
        I dots[R];
        L::template dot_bytes<R>(stripe[block].lines, x + block * kActivationBlock, p.x.value_stride, dots);
        const F weight_scales = L::load_half(stripe[block].scales);
        for (int r = 0; r < R; ++r) {
          const float scale = scales[static_cast<std::size_t>(r) * p.x.block_stride + block];
          acc[r] = L::fma(L::to_float(dots[r]), L::mul(weight_scales, L::broadcast(scale)), acc[r]);
        }
      }
      store_rows<R>(p, first, acc);
    }
  };

  struct Q4_K {
    template <int R>
    static void rows(const StripeProduct& p, std::size_t first) {
      const auto* stripe = static_cast<const StripeQ4_K*>(p.stripe);
      const std::int8_t* x = p.x.values + first * p.x.value_stride;
      const float* scales = p.x.scales + first * p.x.block_stride;
      const auto* sums = static_cast<const std::int16_t*>(p.x.sums) + first * p.x.block_stride * 8;
      F acc[R];
      for (int r = 0; r < R; ++r) acc[r] = L::broadcast(0.0F);
      for (std::size_t block = 0; block < p.blocks; ++block) {
        if (first == 0) prefetch_ahead(stripe[block]);
        I dots[R];
        for (int r = 0; r < R; ++r) dots[r] = L::broadcast_int(0);
        for (std::size_t sub = 0; sub < 8; ++sub) {
          const I scale = L::load_u8(stripe[block].sub_scales[sub]);
          const I pairs = L::or_int(scale, L::template shift_left<16>(scale));
          L::template dot_nibbles_scaled<R>(stripe[block].lines[sub], x + block * kSuperBlock + sub * kActivationBlock,
                                            p.x.value_stride, pairs, dots);
        }
        finish_block<R>(stripe[block], scales + block, sums + block * 8, p.x.block_stride, dots, acc);
      }
      store_rows<R>(p, first, acc);
    }

   private:
    template <int R>
    static void finish_block(const StripeQ4_K& stripe, const float* scales, const std::int16_t* sums,
                             std::size_t block_stride, const I (&dots)[R], F (&acc)[R]) {
      const F weight_scales = L::load_half(stripe.scales);
      const F weight_mins = L::load_half(stripe.mins);
      I mins[4];
      for (int i = 0; i < 4; ++i) mins[i] = L::load_u8_pairs(stripe.sub_mins[i][0]);
      for (int r = 0; r < R; ++r) {
        const std::size_t at = static_cast<std::size_t>(r) * block_stride;
        I min_dot = L::broadcast_int(0);
        for (int i = 0; i < 4; ++i) {
          std::int32_t pair;
          __builtin_memcpy(&pair, sums + at * 8 + static_cast<std::size_t>(i) * 2, sizeof pair);
          min_dot = L::add_int(min_dot, L::multiply_add_pairs(mins[i], L::broadcast_int(pair)));
        }
        const F scale = L::broadcast(scales[at]);
        acc[r] = L::fma(L::to_float(dots[r]), L::mul(weight_scales, scale), acc[r]);
        acc[r] = L::fma(L::to_float(min_dot), L::sub(L::broadcast(-0.0F), L::mul(weight_mins, scale)), acc[r]);
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
