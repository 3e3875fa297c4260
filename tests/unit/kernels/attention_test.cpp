// C1, C4, E2: a row's attention depends on its query and its sequence's keys and values alone.
#include "kernels/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "kernel_fixtures.h"
#include "kernels/half.h"

namespace takt {
namespace {

using test::random_floats;
using test::runnable_levels;
using test::same_bits;
using test::view_of;

struct Geometry {
  std::uint32_t heads, kv_heads, key_dim, value_dim;
  KvType type = KvType::kF16;
  std::uint32_t window = 0;
  float softcap = 0.0F;
  std::uint32_t block_tokens = 16;
};

// One sequence's queries, keys and values for all its positions.
struct Sequence {
  std::uint32_t length;
  std::vector<float> q, k, v;
};

Sequence make_sequence(const Geometry& g, std::uint32_t length, std::uint64_t seed) {
  return {length, random_floats(seed, std::size_t{length} * g.heads * g.key_dim, 2.0F),
          random_floats(seed + 1, std::size_t{length} * g.kv_heads * g.key_dim, 2.0F),
          random_floats(seed + 2, std::size_t{length} * g.kv_heads * g.value_dim)};
}

// A cache, filled with garbage that must never be seen.
class Cache {
 public:
  Cache(const Geometry& g, std::uint32_t blocks) {
    cache_.layout = {g.type, 2, g.kv_heads, g.key_dim, g.value_dim, g.block_tokens};
    bytes_.assign(cache_.layout.block_bytes() * blocks, std::byte{0xFF});  // NaN in both types
    cache_.data = bytes_.data();
    cache_.block_count = blocks;
  }
  const KvBlocks& view() const { return cache_; }

 private:
  std::vector<std::byte> bytes_;
  KvBlocks cache_;
};

class Runner {
 public:
  Runner(const Geometry& g, Isa isa, int threads) : g_(g), pool_(threads), compute_(isa, pool_) {}

  // Computes the rows [first, first + count) of the sequences in one step, as the engine would.
  void step(Cache& cache, const std::vector<const Sequence*>& sequences,
            const std::vector<std::vector<std::uint32_t>>& tables,
            const std::vector<std::pair<std::uint32_t, std::uint32_t>>& ranges, std::vector<std::vector<float>>& outs) {
    std::vector<float> q, k, v;
    std::vector<AttentionRows> rows;
    std::size_t count = 0;
    const auto append = [](std::vector<float>& to, const std::vector<float>& from, std::size_t width,
                           std::pair<std::uint32_t, std::uint32_t> range) {
      to.insert(to.end(), from.begin() + static_cast<std::ptrdiff_t>(range.first * width),
                from.begin() + static_cast<std::ptrdiff_t>((range.first + range.second) * width));
    };
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      rows.push_back({tables[i], ranges[i].first, ranges[i].second, count});
      append(q, sequences[i]->q, std::size_t{g_.heads} * g_.key_dim, ranges[i]);
      append(k, sequences[i]->k, std::size_t{g_.kv_heads} * g_.key_dim, ranges[i]);
      append(v, sequences[i]->v, std::size_t{g_.kv_heads} * g_.value_dim, ranges[i]);
      count += ranges[i].second;
    }
    const std::size_t width = std::size_t{g_.heads} * g_.value_dim;
    std::vector<float> out(count * width);
    ASSERT_TRUE(store_keys_values(compute_, cache.view(), 1, rows,
                                  view_of(k, count, std::size_t{g_.kv_heads} * g_.key_dim),
                                  view_of(v, count, std::size_t{g_.kv_heads} * g_.value_dim)));
    const AttentionParams params{1, g_.heads, 0.25F, g_.softcap, g_.window};
    const Status status =
        attend(compute_, cache.view(), params, rows, view_of(q, count, std::size_t{g_.heads} * g_.key_dim),
               view_of(out, count, width), workspace_);
    ASSERT_TRUE(status) << status.error().message;
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      auto begin = out.begin() + static_cast<std::ptrdiff_t>(rows[i].first_row * width);
      outs[i].insert(outs[i].end(), begin, begin + static_cast<std::ptrdiff_t>(ranges[i].second * width));
    }
  }

  // The whole sequence in chunks of the given size.
  std::vector<float> run(const Sequence& sequence, std::uint32_t chunk, const std::vector<std::uint32_t>& table,
                         std::uint32_t blocks) {
    Cache cache(g_, blocks);
    std::vector<std::vector<float>> outs(1);
    for (std::uint32_t at = 0; at < sequence.length; at += chunk) {
      step(cache, {&sequence}, {table}, {{at, std::min(chunk, sequence.length - at)}}, outs);
    }
    return outs[0];
  }

 private:
  Geometry g_;
  ThreadPool pool_;
  Compute compute_;
  AttentionWorkspace workspace_;
};

std::vector<std::uint32_t> straight_table(std::uint32_t blocks) {
  std::vector<std::uint32_t> table(blocks);
  std::iota(table.begin(), table.end(), 0U);
  return table;
}

// What the cache keeps of `values`, heads of `width` after each other.
std::vector<double> as_stored(const Geometry& g, const std::vector<float>& values, std::size_t width) {
  std::vector<double> out(values.begin(), values.end());
  if (g.type == KvType::kF32) return out;
  for (std::size_t at = 0; at < values.size();) {
    if (g.type == KvType::kF16) {
      out[at] = static_cast<double>(half_to_float(float_to_half(values[at])));
      ++at;
      continue;
    }
    const std::size_t end = std::min(at + kKvBlock, (at / width + 1) * width);
    float largest = 0.0F;
    for (std::size_t i = at; i < end; ++i) largest = std::max(largest, std::abs(values[i]));
    const float scale = half_to_float(float_to_half(largest / 127.0F));
    for (; at < end; ++at) {
      const float code = scale == 0.0F ? 0.0F : std::nearbyint(values[at] * (1.0F / scale));
      out[at] = static_cast<double>(scale) * static_cast<double>(std::clamp(code, -127.0F, 127.0F));
    }
  }
  return out;
}

std::vector<double> exact_attention(const Geometry& g, const Sequence& s) {
  std::vector<double> out(std::size_t{s.length} * g.heads * g.value_dim);
  const std::vector<double> keys = as_stored(g, s.k, g.key_dim);
  const std::vector<double> values = as_stored(g, s.v, g.value_dim);
  for (std::uint32_t row = 0; row < s.length; ++row) {
    const std::uint32_t first = g.window != 0 && row >= g.window ? row - g.window + 1 : 0;
    for (std::uint32_t h = 0; h < g.heads; ++h) {
      const std::uint32_t kv = h / (g.heads / g.kv_heads);
      std::vector<double> weights;
      double sum = 0.0;
      for (std::uint32_t p = first; p <= row; ++p) {
        double score = 0.0;
        for (std::uint32_t d = 0; d < g.key_dim; ++d) {
          score += static_cast<double>(s.q[(std::size_t{row} * g.heads + h) * g.key_dim + d]) *
                   keys[(std::size_t{p} * g.kv_heads + kv) * g.key_dim + d];
        }
        score *= 0.25;
        if (g.softcap > 0.0F)
          score = static_cast<double>(g.softcap) * std::tanh(score / static_cast<double>(g.softcap));
        weights.push_back(std::exp(score));
        sum += weights.back();
      }
      for (std::uint32_t d = 0; d < g.value_dim; ++d) {
        double value = 0.0;
        for (std::uint32_t p = first; p <= row; ++p)
          value += weights[p - first] * values[(std::size_t{p} * g.kv_heads + kv) * g.value_dim + d];
        out[(std::size_t{row} * g.heads + h) * g.value_dim + d] = value / sum;
      }
    }
  }
  return out;
}

const std::vector<Geometry>& geometries() {
  static const std::vector<Geometry> kAll = {
      {9, 3, 64, 64},
      {4, 4, 24, 24, KvType::kF32},
      {4, 2, 32, 32, KvType::kF16, 0, 0.0F, 32},
      {2, 1, 80, 80, KvType::kF32, 40},
      {40, 1, 16, 48, KvType::kF16, 600},
      {2, 2, 128, 128, KvType::kF16, 0, 5.0F},
      {9, 3, 64, 64, KvType::kQ8_0},
      {2, 1, 80, 48, KvType::kQ8_0, 40},
      {40, 1, 16, 24, KvType::kQ8_0, 600, 0.0F, 32},
      {5, 1, 33, 128, KvType::kQ8_0, 0, 5.0F},
  };
  return kAll;
}

TEST(Attention, IsNearTheFormulaInDoublePrecision) {
  for (const Geometry& g : geometries()) {
    const Sequence s = make_sequence(g, 100, 31);
    Runner runner(g, runnable_levels().back(), 2);
    const std::vector<float> got = runner.run(s, 100, straight_table(7), 7);
    const std::vector<double> want = exact_attention(g, s);
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-5) << g.key_dim << " " << i;
  }
}

TEST(Attention, IsNearTheFormulaAcrossSegments) {
  const Geometry g{2, 1, 16, 16, KvType::kF32};
  const Sequence s = make_sequence(g, 1100, 32);
  Runner runner(g, runnable_levels().back(), 2);
  const std::vector<float> got = runner.run(s, 1100, straight_table(69), 69);
  const std::vector<double> want = exact_attention(g, s);
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-5) << i;
}

TEST(Attention, IsEqualByBitsOnEveryInstructionSetAndThreadCount) {
  for (const Geometry& g : geometries()) {
    const Sequence s = make_sequence(g, 150, 33);
    const std::vector<float> reference = Runner(g, Isa::kScalar, 1).run(s, 150, straight_table(10), 10);
    for (const Isa isa : runnable_levels()) {
      for (const int threads : {1, 2}) {
        EXPECT_TRUE(same_bits(Runner(g, isa, threads).run(s, 150, straight_table(10), 10), reference))
            << isa_name(isa) << " " << g.key_dim;
      }
    }
  }
}

class AttentionOfGeometry : public ::testing::TestWithParam<std::size_t> {};

TEST_P(AttentionOfGeometry, IsEqualByBitsForEveryChunkSize) {
  const Geometry& g = geometries()[GetParam()];
  Runner runner(g, runnable_levels().back(), 1);
  const Sequence s = make_sequence(g, 90, 34);
  const std::vector<float> whole = runner.run(s, 90, straight_table(6), 6);
  for (std::uint32_t chunk = 1; chunk <= 64; ++chunk)
    EXPECT_TRUE(same_bits(runner.run(s, chunk, straight_table(6), 6), whole)) << chunk;
}

INSTANTIATE_TEST_SUITE_P(Each, AttentionOfGeometry, ::testing::Range(std::size_t{0}, geometries().size()));

TEST(Attention, IsEqualByBitsForEveryChunkSizeAcrossSegments) {
  for (const std::uint32_t window : {0U, 300U, 520U}) {
    const Geometry g{2, 1, 16, 16, window == 300 ? KvType::kQ8_0 : KvType::kF16, window};
    Runner runner(g, runnable_levels().back(), 1);
    const Sequence s = make_sequence(g, 1100, 35);
    const std::vector<float> whole = runner.run(s, 1100, straight_table(69), 69);
    for (const std::uint32_t chunk : {1U, 7U, 64U, 511U, 512U, 513U}) {
      EXPECT_TRUE(same_bits(runner.run(s, chunk, straight_table(69), 69), whole)) << chunk << " window " << window;
    }
  }
}

TEST(Attention, DoesNotSeeTheOrderOfBlocks) {
  const Geometry g = geometries()[0];
  Runner runner(g, runnable_levels().back(), 2);
  const Sequence s = make_sequence(g, 90, 36);
  EXPECT_TRUE(same_bits(runner.run(s, 13, {17, 3, 9, 0, 11, 4}, 18), runner.run(s, 13, straight_table(6), 6)));
}

TEST(Attention, DoesNotSeeOtherSequencesOfTheStep) {
  const Geometry g = geometries()[0];
  Runner runner(g, runnable_levels().back(), 2);
  const Sequence s = make_sequence(g, 40, 37);
  const std::vector<float> alone = runner.run(s, 40, straight_table(3), 3);
  const Sequence other = make_sequence(g, 700, 38);
  Cache cache(g, 60);
  std::vector<std::vector<float>> outs(2);
  const std::vector<std::uint32_t> mine = {50, 51, 52};
  for (std::uint32_t i = 0; i < 4; ++i) {
    runner.step(cache, {&other, &s}, {straight_table(44), mine}, {{i * 175, 175}, {i * 10, 10}}, outs);
  }
  EXPECT_TRUE(same_bits(outs[1], alone));
}

TEST(Attention, TakesNanAndInfinityWithoutHarm) {
  for (const KvType type : {KvType::kF16, KvType::kF32, KvType::kQ8_0}) {
    Geometry g = geometries()[0];
    g.type = type;
    Sequence s = make_sequence(g, 40, 39);
    s.q[5] = std::numeric_limits<float>::quiet_NaN();
    s.k[700] = std::numeric_limits<float>::infinity();
    s.v[900] = -std::numeric_limits<float>::infinity();
    const std::vector<float> reference = Runner(g, Isa::kScalar, 1).run(s, 40, straight_table(3), 3);
    for (const Isa isa : runnable_levels())
      EXPECT_TRUE(same_bits(Runner(g, isa, 2).run(s, 7, straight_table(3), 3), reference)) << kv_type_name(type);
  }
}

// A position that sees itself alone gives its value as it was stored.
TEST(Attention, KeepsInt8ValuesWithinHalfAStepOfTheirBlocksScale) {
  const Geometry g{1, 1, 16, 72, KvType::kQ8_0};
  for (const float size : {1.0F, 1e-5F, 1e-9F, 5e6F}) {
    Sequence s = make_sequence(g, 1, 41);
    for (float& value : s.v) value *= size;
    for (const Isa isa : runnable_levels()) {
      const std::vector<float> kept = Runner(g, isa, 1).run(s, 1, straight_table(1), 1);
      for (std::size_t i = 0; i < kept.size(); ++i) {
        // The scale is a half float: above it the nearest one, below 2^-24 there is none.
        const double step = static_cast<double>(size) / 127.0 * (1.0 + 0x1p-11) + 0x1p-25;
        ASSERT_NEAR(kept[i], s.v[i], 0.5 * step + 127 * 0x1p-25) << isa_name(isa) << " " << size << " " << i;
      }
    }
  }
}

TEST(Attention, MakesABlockNoNumberWhoseScaleNoHalfFloatHolds) {
  const Geometry g{1, 1, 16, 64, KvType::kQ8_0};
  Sequence s = make_sequence(g, 1, 42);
  s.v[3] = 9e6F;
  for (const Isa isa : runnable_levels()) {
    const std::vector<float> kept = Runner(g, isa, 1).run(s, 1, straight_table(1), 1);
    for (std::size_t i = 0; i < kept.size(); ++i) EXPECT_EQ(std::isnan(kept[i]), i < 32) << isa_name(isa) << " " << i;
  }
}

TEST(Attention, RefusesTablesAndShapesThatDoNotFit) {
  const Geometry g{2, 1, 16, 16};
  ThreadPool pool(1);
  const Compute compute(Isa::kScalar, pool);
  Cache cache(g, 2);
  AttentionWorkspace workspace;
  std::vector<float> q(17 * 32), out(17 * 32), kv(17 * 16);
  const std::vector<std::uint32_t> table = {0};
  const std::vector<std::uint32_t> outside = {0, 2};
  const auto attend_rows = [&](AttentionRows rows, AttentionParams params) {
    return attend(compute, cache.view(), params, std::span(&rows, 1), view_of(q, 17, 32), view_of(out, 17, 32),
                  workspace)
        .ok();
  };
  const AttentionParams params{0, 2, 1.0F};
  std::vector<AttentionRows> rows = {{table, 0, 16, 0}};
  ASSERT_TRUE(store_keys_values(compute, cache.view(), 0, rows, view_of(kv, 17, 16), view_of(kv, 17, 16)));
  EXPECT_TRUE(attend_rows({table, 0, 16, 0}, params));
  EXPECT_TRUE(attend_rows({table, 0, 0, 0}, params));
  EXPECT_FALSE(attend_rows({table, 0, 17, 0}, params));
  EXPECT_FALSE(attend_rows({table, 0, 16, 2}, params));
  EXPECT_FALSE(attend_rows({outside, 0, 16, 0}, params));
  EXPECT_FALSE(attend_rows({table, 0, 16, 0}, {2, 2, 1.0F}));
  EXPECT_FALSE(attend_rows({table, 0, 16, 0}, {0, 4, 1.0F}));
}

TEST(KvLayout, RefusesBlocksThatAreNoWholeTiles) {
  KvLayout layout{KvType::kF16, 30, 3, 64, 64, 16};
  EXPECT_TRUE(layout.check());
  EXPECT_EQ(layout.block_bytes(), 30U * 3 * 16 * 128 * 2);
  layout.type = KvType::kQ8_0;
  EXPECT_TRUE(layout.check());
  EXPECT_EQ(layout.block_bytes(), 30U * 3 * 16 * 128 * 2 * 34 / 64);
  layout.block_tokens = 24;
  EXPECT_FALSE(layout.check());
  layout.block_tokens = 0;
  EXPECT_FALSE(layout.check());
}

}  // namespace
}  // namespace takt
