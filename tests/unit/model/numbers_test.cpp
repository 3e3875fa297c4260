#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "kernels/half.h"
#include "model/finite_scan.h"
#include "model/rope_frequencies.h"

namespace takt {
namespace {

Hyperparameters rope_of(std::uint32_t dimensions, float base) {
  Hyperparameters h;
  h.rope_dimensions = dimensions;
  h.rope_base = base;
  h.rope_scaling.original_context = 64;
  return h;
}

TEST(RopeFrequencies, FallGeometricallyAndAreStretchedLinearly) {
  Hyperparameters h = rope_of(8, 10000.0F);
  const auto plain = make_rope_frequencies(h, {});
  ASSERT_EQ(plain.frequency.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_NEAR(plain.frequency[i], std::pow(10000.0, -static_cast<double>(i) / 4), 1e-12);
  h.rope_scaling.kind = RopeScalingKind::kLinear;
  h.rope_scaling.factor = 4.0F;
  const auto linear = make_rope_frequencies(h, {});
  for (std::size_t i = 0; i < 4; ++i) EXPECT_DOUBLE_EQ(linear.frequency[i], plain.frequency[i] / 4);
  EXPECT_EQ(linear.magnitude, 1.0F);
}

TEST(RopeFrequencies, YarnKeepsTheFastPairsAndStretchesTheSlowOnes) {
  Hyperparameters h = rope_of(32, 10000.0F);
  const auto plain = make_rope_frequencies(h, {});
  h.rope_scaling.kind = RopeScalingKind::kYarn;
  h.rope_scaling.factor = 4.0F;
  const auto yarn = make_rope_frequencies(h, {});
  EXPECT_DOUBLE_EQ(yarn.frequency.front(), plain.frequency.front());
  EXPECT_NEAR(yarn.frequency.back(), plain.frequency.back() / 4, 1e-15);
  EXPECT_NEAR(yarn.magnitude, 1.0 + 0.1 * std::log(4.0), 1e-6);
}

TEST(RopeFrequencies, FactorsDivide) {
  const Hyperparameters h = rope_of(4, 10000.0F);
  const std::vector<float> factors{1.0F, 8.0F};
  const auto plain = make_rope_frequencies(h, {});
  const auto divided = make_rope_frequencies(h, factors);
  EXPECT_DOUBLE_EQ(divided.frequency[0], plain.frequency[0]);
  EXPECT_DOUBLE_EQ(divided.frequency[1], plain.frequency[1] / 8);
}

// NaN and infinity in each of the places where a block can have them.
TEST(FiniteScan, SeesEveryScaleOfEveryType) {
  struct Place {
    TensorType type;
    std::size_t offset;
  };
  for (const Place& place : {Place{TensorType::kF16, 0}, Place{TensorType::kQ4_0, 0}, Place{TensorType::kQ4_1, 2},
                             Place{TensorType::kQ5_0, 0}, Place{TensorType::kQ5_1, 2}, Place{TensorType::kQ8_0, 0},
                             Place{TensorType::kQ2_K, 82}, Place{TensorType::kQ3_K, 108}, Place{TensorType::kQ4_K, 2},
                             Place{TensorType::kQ5_K, 2}, Place{TensorType::kQ6_K, 208}, Place{TensorType::kIQ4_NL, 0},
                             Place{TensorType::kIQ4_XS, 0}}) {
    SCOPED_TRACE(tensor_type_name(place.type));
    const std::size_t block = tensor_type_info(place.type).block_bytes;
    std::vector<std::byte> data(block * 40000);
    EXPECT_TRUE(all_finite(place.type, data));
    for (const std::uint16_t bad : {std::uint16_t{0x7C00}, std::uint16_t{0xFE01}}) {
      std::vector<std::byte> broken = data;
      std::memcpy(broken.data() + 39999 * block + place.offset, &bad, sizeof bad);
      EXPECT_FALSE(all_finite(place.type, broken));
    }
  }
  std::vector<float> floats(100000, 1.0F);
  EXPECT_TRUE(all_finite(TensorType::kF32, std::as_bytes(std::span(floats))));
  floats.back() = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(all_finite(TensorType::kF32, std::as_bytes(std::span(floats))));
  const std::vector<std::uint16_t> brains{0x3F80, 0x7F80};
  EXPECT_FALSE(all_finite(TensorType::kBF16, std::as_bytes(std::span(brains))));
}

TEST(HalfFloats, EveryHalfSurvivesTheWayThroughF32) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = half_to_float(half);
    if (std::isnan(value)) continue;
    ASSERT_EQ(float_to_half(value), half);
  }
  EXPECT_EQ(float_to_half(65519.0F), 0x7BFF);
  EXPECT_EQ(float_to_half(65520.0F), 0x7C00);
  EXPECT_EQ(float_to_half(0x1p-25F), 0x0000);  // the tie goes to even
  EXPECT_EQ(float_to_half(0x1.8p-24F), 0x0002);
}

}  // namespace
}  // namespace takt
