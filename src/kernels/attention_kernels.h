// Attention over one KV segment, over any lanes type. Orders are docs/numerics.md's: lanes are positions for the
// scores, dimensions for the values.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/attention_segment.h"
#include "kernels/kv_quantiser.h"
#include "kernels/math_kernels.h"
#include "kernels/row_groups.h"

namespace takt {

template <typename L>
struct AttentionKernels {
  using F = typename L::F;
  using I = typename L::I;
  using Math = MathKernels<L>;

  static void attend(const AttendSegment& s) {
    std::size_t first = kAttentionSegment;
    std::size_t last = 0;
    for (std::size_t q = 0; q < s.queries; ++q) {
      const AttendedRange& range = s.ranges[q];
      if (range.begin >= range.end) continue;
      if (range.begin < first) first = range.begin;
      if (range.end > last) last = range.end;
    }
    for (std::size_t t = first / kAttentionTile; t * kAttentionTile < last; ++t) score_tile(s, t);
    for (std::size_t q = 0; q < s.queries; ++q) weigh(s, q);
    for (std::size_t t = first / kAttentionTile; t * kAttentionTile < last; ++t) add_values(s, t);
  }

  // Segments in order, each scaled by exp(its maximum - the overall maximum); then one division.
  static void merge(const MergeSegments& m) {
    float most = -__builtin_inff();
    for (std::size_t i = 0; i < m.segments; ++i) {
      const float maximum = m.partials[i * m.partial_stride];
      most = most > maximum ? most : maximum;
    }
    F sum = L::broadcast(0.0F);
    for (std::size_t i = 0; i < m.segments; ++i) {
      const float* partial = m.partials + i * m.partial_stride;
      sum = L::fma(segment_weight(partial, most), L::broadcast(partial[1]), sum);
    }
    for (std::size_t d = 0; d < m.value_dim; d += kLanes) {
      F value = L::broadcast(0.0F);
      for (std::size_t i = 0; i < m.segments; ++i) {
        const float* partial = m.partials + i * m.partial_stride;
        value = L::fma(segment_weight(partial, most), L::load(partial + 2 + d), value);
      }
      float part[kLanes];
      L::store(part, L::div(value, sum));
      for (std::size_t i = 0; i < kLanes && d + i < m.value_dim; ++i) m.out[d + i] = part[i];
    }
  }

  static void store(const StoreKeyValue& kv) {
    switch (kv.type) {
      case KvType::kF16:
        store_halves(kv);
        break;
      case KvType::kF32:
        store_floats(kv);
        break;
      case KvType::kQ8_0:
        store_int8(kv);
        break;
    }
  }

 private:
  static void store_halves(const StoreKeyValue& kv) {
    auto* keys = reinterpret_cast<std::uint16_t*>(kv.key_tile) + kv.lane;
    auto* values = reinterpret_cast<std::uint16_t*>(kv.value_tile) + kv.lane * kv.value_stride;
    for_parts(kv.key, kv.key_dim, [&](std::size_t at, std::size_t count, F part) {
      std::uint16_t halves[kLanes];
      L::store_half(halves, part);
      for (std::size_t i = 0; i < count; ++i) keys[(at + i) * kAttentionTile] = halves[i];
    });
    for_parts(kv.value, kv.value_dim, [&](std::size_t at, std::size_t, F part) { L::store_half(values + at, part); });
  }

  static void store_floats(const StoreKeyValue& kv) {
    auto* keys = reinterpret_cast<float*>(kv.key_tile) + kv.lane;
    auto* values = reinterpret_cast<float*>(kv.value_tile) + kv.lane * kv.value_stride;
    for (std::size_t d = 0; d < kv.key_dim; ++d) keys[d * kAttentionTile] = kv.key[d];
    for_parts(kv.value, kv.value_dim, [&](std::size_t at, std::size_t, F part) { L::store(values + at, part); });
  }

  static void store_int8(const StoreKeyValue& kv) {
    auto* keys = reinterpret_cast<std::int8_t*>(kv.key_tile) + kv.lane;
    auto* key_scales = scales_behind(kv.key_tile, kv.key_dim) + kv.lane;
    auto* values = reinterpret_cast<std::int8_t*>(kv.value_tile) + kv.lane * kv.value_stride;
    auto* value_scales = scales_behind(kv.value_tile, kv.value_stride) + kv.lane;
    std::int8_t block[kKvBlock];
    for (std::size_t at = 0; at < kv.key_dim; at += kKvBlock) {
      const std::size_t count = rest_of_block(at, kv.key_dim);
      key_scales[at / kKvBlock * kAttentionTile] = KvQuantiser<L>::quantise(kv.key + at, count, block);
      for (std::size_t i = 0; i < count; ++i) keys[(at + i) * kAttentionTile] = block[i];
    }
    for (std::size_t at = 0; at < kv.value_dim; at += kKvBlock) {
      value_scales[at / kKvBlock * kAttentionTile] =
          KvQuantiser<L>::quantise(kv.value + at, rest_of_block(at, kv.value_dim), block);
      const std::size_t padded = rest_of_block(at, kv.value_stride);
      for (std::size_t i = 0; i < padded; ++i) values[at + i] = block[i];
    }
  }
  static std::size_t rest_of_block(std::size_t at, std::size_t width) {
    return width - at < kKvBlock ? width - at : kKvBlock;
  }
  // The scales of an int8 tile lie behind its values.
  static std::uint16_t* scales_behind(std::byte* tile, std::size_t width) {
    return reinterpret_cast<std::uint16_t*>(tile + width * kAttentionTile);
  }
  static const std::uint16_t* scales_behind(const std::byte* tile, std::size_t width) {
    return reinterpret_cast<const std::uint16_t*>(tile + width * kAttentionTile);
  }

  template <typename Body>
  static void for_parts(const float* x, std::size_t n, Body body) {
    for (std::size_t at = 0; at < n; at += kLanes) {
      const std::size_t count = n - at < kLanes ? n - at : kLanes;
      float part[kLanes];
      for (std::size_t i = 0; i < kLanes; ++i) part[i] = i < count ? x[at + i] : 0.0F;
      body(at, count, L::load(part));
    }
  }

  static F segment_weight(const float* partial, float most) {
    return Math::exp(L::sub(L::broadcast(partial[0]), L::broadcast(most)));
  }

  static F load_stored(const float* p) { return L::load(p); }
  static F load_stored(const std::uint16_t* p) { return L::load_half(p); }

  // Tiles give 16 values, in F32, from value `at` on; `scale`: where their scale is, for tiles that have some. Tiles
  // lie in blocks far from each other, where the hardware's own prefetching does not reach: while one is read, the next
  // is fetched line by line (all its lines at once would fill the queue of outstanding loads).
  template <typename Stored>
  struct StoredTile {
    const Stored* values;
    const Stored* next;
    F operator()(std::size_t at, std::size_t) const {
      __builtin_prefetch(next + at);
      return load_stored(values + at);
    }
  };
  // Products of an int8 and a half float are exact. The 16 values are of 16 positions (keys) or of one (values).
  struct Int8Keys {
    const std::int8_t* values;
    const std::int8_t* next;
    const float* scales;
    F operator()(std::size_t at, std::size_t scale) const {
      __builtin_prefetch(next + at);
      return L::mul(L::to_float(L::load_i8(values + at)), L::load(scales + scale));
    }
  };
  struct Int8Values {
    const std::int8_t* values;
    const std::int8_t* next;
    const float* scales;
    F operator()(std::size_t at, std::size_t scale) const {
      __builtin_prefetch(next + at);
      return L::mul(L::to_float(L::load_i8(values + at)), L::broadcast(scales[scale]));
    }
  };
  // Keeps what it has widened, for the queries that read the tile after these.
  template <typename Stored>
  struct WideningTile {
    Stored stored;
    float* wide;
    F operator()(std::size_t at, std::size_t scale) const {
      const F value = stored(at, scale);
      L::store(wide + at, value);
      return value;
    }
  };
  struct WideTile {
    const float* values;
    F operator()(std::size_t at, std::size_t) const { return L::load(values + at); }
  };

  // A tile that groups of queries read one after the other. One that is not of floats is widened by the first group
  // while it computes; a single group needs no copy. Int8Tile: Int8Keys or Int8Values.
  template <typename Int8Tile>
  class SharedTile {
   public:
    SharedTile(const AttendSegment& s, const std::byte* tile, const std::byte* next, std::size_t width)
        : stored_(tile), next_(next != nullptr ? next : tile), wide_(s.tile), scales_(s.scales), type_(s.type) {
      if (type_ == KvType::kQ8_0) widen_scales(width);
    }

    // Calls body(tile). `keep`: other groups follow, and body reads the whole tile.
    template <typename Body>
    void read(bool keep, const Body& body) {
      if (widened_) {
        body(WideTile{wide_});
        return;
      }
      switch (type_) {
        case KvType::kF32:
          body(as_stored<float>());
          break;
        case KvType::kF16:
          read_narrow(keep, as_stored<std::uint16_t>(), body);
          break;
        case KvType::kQ8_0:
          read_narrow(keep,
                      Int8Tile{reinterpret_cast<const std::int8_t*>(stored_),
                               reinterpret_cast<const std::int8_t*>(next_), scales_},
                      body);
          break;
      }
    }

   private:
    template <typename Stored, typename Body>
    void read_narrow(bool keep, const Stored& stored, const Body& body) {
      widened_ = keep;
      if (keep) {
        body(WideningTile<Stored>{stored, wide_});
      } else {
        body(stored);
      }
    }

    template <typename Stored>
    StoredTile<Stored> as_stored() const {
      return {reinterpret_cast<const Stored*>(stored_), reinterpret_cast<const Stored*>(next_)};
    }

    void widen_scales(std::size_t width) {
      const std::uint16_t* stored = scales_behind(stored_, width);
      const std::uint16_t* next = scales_behind(next_, width);
      for (std::size_t block = 0; block * kKvBlock < width; ++block) {
        const std::size_t at = block * kAttentionTile;
        __builtin_prefetch(next + at);
        L::store(scales_ + at, L::load_half(stored + at));
      }
    }

    const std::byte* stored_;
    const std::byte* next_;
    float* wide_;
    float* scales_;
    KvType type_;
    bool widened_ = false;
  };

  static bool touches(const AttendedRange& range, std::size_t t) {
    return range.begin < range.end && range.begin < (t + 1) * kAttentionTile && range.end > t * kAttentionTile;
  }

  static const std::byte* after(const std::byte* const (&tiles)[kTilesPerSegment], std::size_t t) {
    return t + 1 < kTilesPerSegment ? tiles[t + 1] : nullptr;
  }

  // Scores of positions outside a query's range may be anything: weigh() drops them.
  [[gnu::noinline]] static void score_tile(const AttendSegment& s, std::size_t t) {
    SharedTile<Int8Keys> tile(s, s.key_tiles[t], after(s.key_tiles, t), s.key_dim);
    std::size_t q = 0;
    while (q < s.queries) {
      std::size_t end = q;
      while (end < s.queries && touches(s.ranges[end], t)) ++end;
      in_even_groups(q, end, [&](auto size, std::size_t first) {
        tile.read(size() < s.queries, [&](const auto& keys) { score_queries<size()>(s, keys, first, t); });
      });
      q = end + 1;
    }
  }

  template <int Q, typename Tile>
  static void score_queries(const AttendSegment& s, const Tile& keys, std::size_t first, std::size_t t) {
    const float* queries = s.scaled_queries + first * s.key_dim;
    F score[Q];
    for (int q = 0; q < Q; ++q) score[q] = L::broadcast(0.0F);
#pragma GCC unroll 4
    for (std::size_t d = 0; d < s.key_dim; ++d) {
      const F key = keys(d * kAttentionTile, d / kKvBlock * kAttentionTile);
      for (int q = 0; q < Q; ++q) {
        score[q] = L::fma(key, L::broadcast(queries[static_cast<std::size_t>(q) * s.key_dim + d]), score[q]);
      }
    }
    float* out = s.scores + first * kAttentionSegment + t * kAttentionTile;
    for (int q = 0; q < Q; ++q) {
      if (s.softcap > 0.0F) {
        score[q] = L::mul(Math::tanh(L::div(score[q], L::broadcast(s.softcap))), L::broadcast(s.softcap));
      }
      L::store(out + static_cast<std::size_t>(q) * kAttentionSegment, score[q]);
    }
  }

  // scores -> exp(score - maximum), 0 outside the range; the maximum and, in 16 lanes over the tiles in order, the sum.
  [[gnu::noinline]] static void weigh(const AttendSegment& s, std::size_t q) {
    const AttendedRange range = s.ranges[q];
    if (range.begin >= range.end) return;
    float* scores = s.scores + q * kAttentionSegment;
    const std::size_t first = range.begin / kAttentionTile;
    const std::size_t last = (range.end - 1) / kAttentionTile;
    mask(scores, range, first);
    mask(scores, range, last);
    F most = L::broadcast(-__builtin_inff());
    for (std::size_t t = first; t <= last; ++t) most = L::max(L::load(scores + t * kAttentionTile), most);
    const float maximum = L::max_of(most);
    s.sums[q] = L::sum(exponentials(scores + first * kAttentionTile, last + 1 - first, L::broadcast(maximum)));
    s.maxima[q] = maximum;
    float* values = s.values + q * s.value_stride;
    for (std::size_t d = 0; d < s.value_stride; d += kLanes) L::store(values + d, L::broadcast(0.0F));
  }

  // Two tiles at a time, so that one's chain of dependent operations fills the other's gaps; summed tile by tile.
  static F exponentials(float* scores, std::size_t tiles, F maximum) {
    F sum = L::broadcast(0.0F);
    std::size_t t = 0;
    for (; t + 2 <= tiles; t += 2) {
      float* two = scores + t * kAttentionTile;
      const F first = Math::exp_nonpositive(L::sub(L::load(two), maximum));
      const F second = Math::exp_nonpositive(L::sub(L::load(two + kAttentionTile), maximum));
      L::store(two, first);
      L::store(two + kAttentionTile, second);
      sum = L::add(L::add(sum, first), second);
    }
    if (t < tiles) {
      float* one = scores + t * kAttentionTile;
      const F weight = Math::exp_nonpositive(L::sub(L::load(one), maximum));
      L::store(one, weight);
      sum = L::add(sum, weight);
    }
    return sum;
  }

  static void mask(float* scores, const AttendedRange& range, std::size_t t) {
    const I position = L::add_int(L::iota(), L::broadcast_int(static_cast<std::int32_t>(t * kAttentionTile)));
    const F nothing = L::broadcast(-__builtin_inff());
    F score = L::load(scores + t * kAttentionTile);
    score = L::select(L::less_int(position, L::broadcast_int(static_cast<std::int32_t>(range.begin))), nothing, score);
    score = L::select(L::less_int(position, L::broadcast_int(static_cast<std::int32_t>(range.end))), score, nothing);
    L::store(scores + t * kAttentionTile, score);
  }

  // Positions of tile t that a query sees, from the tile's start.
  static AttendedRange in_tile(const AttendedRange& range, std::size_t t) {
    const auto start = static_cast<std::uint32_t>(t * kAttentionTile);
    constexpr auto kTile = static_cast<std::uint32_t>(kAttentionTile);
    if (!touches(range, t)) return {0, 0};
    return {range.begin > start ? range.begin - start : 0, range.end - start < kTile ? range.end - start : kTile};
  }

  // Neighbouring queries that see the same positions of the tile share its loads.
  [[gnu::noinline]] static void add_values(const AttendSegment& s, std::size_t t) {
    SharedTile<Int8Values> tile(s, s.value_tiles[t], after(s.value_tiles, t), s.value_stride);
    std::size_t q = 0;
    while (q < s.queries) {
      const AttendedRange seen = in_tile(s.ranges[q], t);
      std::size_t end = q + 1;
      while (end < s.queries && equal(in_tile(s.ranges[end], t), seen)) ++end;
      if (seen.begin < seen.end) add_values_of(s, t, tile, seen, q, end);
      q = end;
    }
  }

  static void add_values_of(const AttendSegment& s, std::size_t t, SharedTile<Int8Values>& tile, AttendedRange seen,
                            std::size_t begin, std::size_t end) {
    const bool whole = seen.begin == 0 && seen.end == kAttentionTile;
    in_even_groups(begin, end, [&](auto size, std::size_t first) {
      const float* weights = s.scores + first * kAttentionSegment + t * kAttentionTile;
      float* values = s.values + first * s.value_stride;
      tile.read(whole && size() < s.queries, [&](const auto& source) {
        if (whole) {  // a loop of constant length
          add_positions<size()>(source, weights, s.value_stride, {0, kAttentionTile}, values);
        } else {
          add_positions<size()>(source, weights, s.value_stride, seen, values);
        }
      });
    });
  }

  static bool equal(const AttendedRange& a, const AttendedRange& b) {
    return a.begin == b.begin && a.end == b.end;
  }

  // values[q][d] = fma(weight[q][p], tile[p][d], values[q][d]), p in order.
  template <int Q, typename Tile>
  static void add_positions(const Tile& tile, const float* weights, std::size_t stride, AttendedRange seen,
                            float* values) {
    for (std::size_t d = 0; d < stride; d += kLanes) {
      F acc[Q];
      for (int q = 0; q < Q; ++q) acc[q] = L::load(values + static_cast<std::size_t>(q) * stride + d);
#pragma GCC unroll 16
      for (std::size_t p = seen.begin; p < seen.end; ++p) {
        const F value = tile(p * stride + d, d / kKvBlock * kAttentionTile + p);
        for (int q = 0; q < Q; ++q) {
          acc[q] = L::fma(L::broadcast(weights[static_cast<std::size_t>(q) * kAttentionSegment + p]), value, acc[q]);
        }
      }
      for (int q = 0; q < Q; ++q) L::store(values + static_cast<std::size_t>(q) * stride + d, acc[q]);
    }
  }
};

}  // namespace takt
