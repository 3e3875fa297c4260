// Functions of one row, over any lanes type.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/math_kernels.h"
#include "kernels/numerics.h"

namespace takt {

// Where quantise_* put a row's int8 form; see QuantisedRows in stripe_layout.h.
struct QuantisedRowOut {
  std::int8_t* values = nullptr;
  float* scales = nullptr;
  std::int32_t* offsets = nullptr;
  float* scaled_sums = nullptr;
  std::int16_t* half_sums = nullptr;
};

// The vectors of one row that rope turns.
struct RopeRow {
  float* heads = nullptr;  // head after head
  std::size_t head_count = 0;
  std::size_t head_dim = 0;
  const float* cos = nullptr;  // one per pair
  const float* sin = nullptr;
  std::size_t pairs = 0;  // rotary dimensions / 2
};

template <typename L>
struct RowKernels {
  using F = typename L::F;
  using I = typename L::I;
  using Math = MathKernels<L>;

  // out = x * (1 / sqrt(mean(x^2) + epsilon)) * weight. Sum of squares in 16 lanes by fused multiply-adds, then the
  // fixed tree.
  static void rms_norm(const float* x, const float* weight, float* out, std::size_t n, float epsilon) {
    F squares = L::broadcast(0.0F);
    std::size_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      const F v = L::load(x + i);
      squares = L::fma(v, v, squares);
    }
    if (i < n) {
      const F v = load_part(x + i, n - i, 0.0F);
      squares = L::fma(v, v, squares);
    }
    const float mean = L::sum(squares) / static_cast<float>(n);
    const float scale = 1.0F / __builtin_sqrtf(mean + epsilon);
    for_parts(n, [&](std::size_t at, std::size_t count) {
      const F v = L::mul(load_part(x + at, count, 0.0F), L::broadcast(scale));
      store_part(out + at, L::mul(v, load_part(weight + at, count, 0.0F)), count);
    });
  }

  // gate / (1 + exp(-gate)) * up, into gate.
  static void silu_multiply(float* gate, const float* up, std::size_t n) {
    for_parts(n, [&](std::size_t at, std::size_t count) {
      const F v = L::mul(Math::silu(load_part(gate + at, count, 0.0F)), load_part(up + at, count, 0.0F));
      store_part(gate + at, v, count);
    });
  }

  static void add(float* x, const float* y, std::size_t n) {
    for_parts(n, [&](std::size_t at, std::size_t count) {
      store_part(x + at, L::add(load_part(x + at, count, 0.0F), load_part(y + at, count, 0.0F)), count);
    });
  }

  // a' = fma(a, cos, -(b * sin)), b' = fma(a, sin, b * cos) for the pairs (2i, 2i + 1).
  static void rope_adjacent(const RopeRow& row) {
    for (std::size_t h = 0; h < row.head_count; ++h) {
      float* x = row.heads + h * row.head_dim;
      for (std::size_t i = 0; i < row.pairs; ++i) turn(x[2 * i], x[2 * i + 1], row.cos[i], row.sin[i]);
    }
  }

  // The same for the pairs (i, pairs + i).
  static void rope_halves(const RopeRow& row) {
    for (std::size_t h = 0; h < row.head_count; ++h) {
      float* x = row.heads + h * row.head_dim;
      for (std::size_t i = 0; i < row.pairs; ++i) turn(x[i], x[row.pairs + i], row.cos[i], row.sin[i]);
    }
  }

  // Blocks of 32: scale = largest magnitude / 127, values = x * (127 / largest magnitude) rounded to the nearest, ties
  // to even.
  static void quantise_32(const float* x, std::size_t n, const QuantisedRowOut& out) {
    for (std::size_t block = 0; block < n / kActivationBlock; ++block) {
      const float* in = x + block * kActivationBlock;
      const BlockScale scale = block_scale(in, kActivationBlock);
      std::int8_t* values = out.values + block * kActivationBlock;
      const std::int32_t first = quantise_values(in, scale.inverse, values);
      const std::int32_t last = quantise_values(in + kLanes, scale.inverse, values + kLanes);
      const std::int32_t sum = first + last;
      out.scales[block] = scale.scale;
      out.offsets[block] = -8 * sum;
      out.scaled_sums[block] = scale.scale * static_cast<float>(sum);
      out.half_sums[2 * block] = static_cast<std::int16_t>(first);
      out.half_sums[2 * block + 1] = static_cast<std::int16_t>(last);
    }
  }

  // The largest value that is a number; -infinity when there is none.
  static float max(const float* x, std::size_t n) {
    F most = L::broadcast(-__builtin_inff());
    for_parts(n, [&](std::size_t at, std::size_t count) {
      most = L::max(load_part(x + at, count, -__builtin_inff()), most);
    });
    return L::max_of(most);
  }

  // maxima[r] = the largest of the row's 16 lanes, NaN when one of them is NaN or +infinity.
  static void lane_maxima(const float* lanes, std::size_t rows, float* maxima) {
    const F infinity = L::broadcast(__builtin_inff());
    for (std::size_t r = 0; r < rows; ++r) {
      const F v = L::load(lanes + r * kLanes);
      const bool all_below = L::sum_int(L::less(v, infinity)) == -static_cast<std::int32_t>(kLanes);
      maxima[r] = all_below ? L::max_of(v) : __builtin_nanf("");
    }
  }

  // out[i] = exp(x[i] - shift); returns their sum: 16 lanes, then the fixed tree. out may be null or x.
  static float exp_sum(const float* x, std::size_t n, float shift, float* out) {
    F sum = L::broadcast(0.0F);
    for_parts(n, [&](std::size_t at, std::size_t count) {
      const F e = Math::exp(L::sub(load_part(x + at, count, -__builtin_inff()), L::broadcast(shift)));
      sum = L::add(sum, e);
      if (out != nullptr) store_part(out + at, e, count);
    });
    return L::sum(sum);
  }

  static void exp(const float* x, std::size_t n, float* out) {
    for_parts(n, [&](std::size_t at, std::size_t count) {
      store_part(out + at, Math::exp(load_part(x + at, count, 0.0F)), count);
    });
  }
  static void log(const float* x, std::size_t n, float* out) {
    for_parts(n, [&](std::size_t at, std::size_t count) {
      store_part(out + at, Math::log(load_part(x + at, count, 1.0F)), count);
    });
  }
  static void tanh(const float* x, std::size_t n, float* out) {
    for_parts(n, [&](std::size_t at, std::size_t count) {
      store_part(out + at, Math::tanh(load_part(x + at, count, 0.0F)), count);
    });
  }

 private:
  template <typename Body>
  static void for_parts(std::size_t n, Body body) {
    std::size_t at = 0;
    for (; at + kLanes <= n; at += kLanes) body(at, kLanes);
    if (at < n) body(at, n - at);
  }
  static F load_part(const float* p, std::size_t count, float fill) {
    if (count == kLanes) return L::load(p);
    float part[kLanes];
    for (std::size_t i = 0; i < kLanes; ++i) part[i] = i < count ? p[i] : fill;
    return L::load(part);
  }
  static void store_part(float* p, F v, std::size_t count) {
    if (count == kLanes) {
      L::store(p, v);
      return;
    }
    float part[kLanes];
    L::store(part, v);
    for (std::size_t i = 0; i < count; ++i) p[i] = part[i];
  }

  static void turn(float& a, float& b, float cos, float sin) {
    const float first = L::fma_one(a, cos, -(b * sin));
    b = L::fma_one(a, sin, b * cos);
    a = first;
  }

  struct BlockScale {
    float scale;
    float inverse;
  };
  // Magnitudes are compared as integers, so NaN and infinity are seen in any order; such a block has the scale NaN and
  // values 0.
  static BlockScale block_scale(const float* x, std::size_t n) {
    I most = L::broadcast_int(0);
    for (std::size_t i = 0; i < n; i += kLanes)
      most = L::max_int(most, L::and_int(L::bits(L::load(x + i)), L::broadcast_int(INT32_MAX)));
    const std::int32_t bits = L::max_of_int(most);
    if (bits >= 0x7F800000) return {__builtin_nanf(""), 0.0F};
    float largest;
    __builtin_memcpy(&largest, &bits, sizeof largest);
    if (largest < kSmallestActivation) return {0.0F, 0.0F};
    return {largest / 127.0F, 127.0F / largest};
  }

  // 16 values; returns their sum.
  static std::int32_t quantise_values(const float* x, float inverse, std::int8_t* out) {
    const F kMagic = L::broadcast(12582912.0F);
    const F scaled = L::mul(L::load(x), L::broadcast(inverse));
    // A value that is no number is 0 by selection: 0 * infinity would not be.
    const F number = L::select(L::less(scaled, L::broadcast(128.0F)), scaled, L::broadcast(0.0F));
    const I value = L::sub_int(L::bits(L::add(number, kMagic)), L::bits(kMagic));
    L::store_i8(out, value);
    return L::sum_int(value);
  }
};

}  // namespace takt
