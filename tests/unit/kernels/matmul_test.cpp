// C1, C4: an output row is a function of its own activations and the weights: not of the rows beside it, the threads or
// the instruction set.
#include "kernels/matmul.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "kernel_fixtures.h"
#include "kernels/dequantise.h"

namespace takt {
namespace {

using test::random_floats;
using test::random_weights;
using test::runnable_levels;
using test::same_bits;
using test::view_of;

constexpr TensorType kTypes[] = {TensorType::kF32,  TensorType::kF16,    TensorType::kBF16,  TensorType::kQ4_0,
                                 TensorType::kQ4_1, TensorType::kQ5_0,   TensorType::kQ5_1,  TensorType::kQ8_0,
                                 TensorType::kQ2_K, TensorType::kQ3_K,   TensorType::kQ4_K,  TensorType::kQ5_K,
                                 TensorType::kQ6_K, TensorType::kIQ4_NL, TensorType::kIQ4_XS};

struct Shape {
  std::size_t rows, cols;
};

// Outputs that do not fill a stripe, depths that do not fill a tile.
std::vector<Shape> shapes_of(TensorType type) {
  const std::size_t block = tensor_type_info(type).block_elements;
  if (block == 1) return {{1, 1}, {17, 33}, {40, 259}};
  if (block == 32) return {{1, 32}, {17, 96}, {33, 288}, {50, 576}};
  return {{1, 256}, {17, 512}, {35, 768}};
}

std::vector<float> multiply(Isa isa, int threads, const std::vector<std::byte>& weights, TensorType type, Shape shape,
                            std::vector<float>& x, std::size_t rows) {
  ThreadPool pool(threads);
  const Compute compute(isa, pool);
  Result<PackedMatrix> packed = PackedMatrix::pack(type, weights, shape.rows, shape.cols, pool);
  EXPECT_TRUE(packed) << (packed ? "" : packed.error().message);
  Activations activations;
  EXPECT_TRUE(activations.assign(compute, view_of(x, rows, shape.cols), packed->activation_formats()));
  std::vector<float> out(rows * shape.rows, -1.0F);
  EXPECT_TRUE(matmul(compute, *packed, activations, view_of(out, rows, shape.rows)));
  return out;
}

class MatmulOfType : public ::testing::TestWithParam<TensorType> {};

TEST_P(MatmulOfType, IsEqualByBitsOnEveryInstructionSetAndThreadCount) {
  const TensorType type = GetParam();
  for (const Shape shape : shapes_of(type)) {
    const std::vector<std::byte> weights = random_weights(type, 11, shape.rows, shape.cols);
    for (const std::size_t rows : {1, 2, 3, 5, 8, 13, 16, 40}) {
      std::vector<float> x = random_floats(12 + rows, rows * shape.cols, 4.0F);
      const std::vector<float> reference = multiply(Isa::kScalar, 1, weights, type, shape, x, rows);
      for (const Isa isa : runnable_levels()) {
        for (const int threads : {1, 2}) {
          EXPECT_TRUE(same_bits(multiply(isa, threads, weights, type, shape, x, rows), reference))
              << isa_name(isa) << ", " << threads << " threads, " << shape.rows << " x " << shape.cols << ", " << rows
              << " rows";
        }
      }
    }
  }
}

TEST_P(MatmulOfType, GivesARowTheSameBitsAloneAndInEveryBatch) {
  const TensorType type = GetParam();
  const Shape shape = shapes_of(type).back();
  const std::vector<std::byte> weights = random_weights(type, 13, shape.rows, shape.cols);
  constexpr std::size_t kRows = 40;
  std::vector<float> x = random_floats(14, kRows * shape.cols);
  const Isa isa = runnable_levels().back();
  const std::vector<float> together = multiply(isa, 2, weights, type, shape, x, kRows);
  for (std::size_t row = 0; row < kRows; row += 7) {
    std::vector<float> alone(x.begin() + static_cast<std::ptrdiff_t>(row * shape.cols),
                             x.begin() + static_cast<std::ptrdiff_t>((row + 1) * shape.cols));
    EXPECT_TRUE(same_bits(multiply(isa, 1, weights, type, shape, alone, 1),
                          std::span(together).subspan(row * shape.rows, shape.rows)))
        << row;
  }
}

// The error of rounding an activation is at most half a step of its block's scale; per output these add up over |w|.
TEST_P(MatmulOfType, IsWithinTheActivationsRoundingOfTheExactProduct) {
  const TensorType type = GetParam();
  for (const Shape shape : shapes_of(type)) {
    const std::vector<std::byte> weights = random_weights(type, 15, shape.rows, shape.cols);
    constexpr std::size_t kRows = 3;
    std::vector<float> x = random_floats(16, kRows * shape.cols, 2.0F);
    const std::vector<float> got = multiply(runnable_levels().back(), 1, weights, type, shape, x, kRows);
    ThreadPool pool(1);
    const auto formats = PackedMatrix::pack(type, weights, shape.rows, shape.cols, pool)->activation_formats();
    const double step = formats == ActivationFormats::kNone ? 0.0 : 2.0 / 127.0;
    std::vector<float> w(shape.cols);
    for (std::size_t n = 0; n < shape.rows; ++n) {
      ASSERT_TRUE(dequantise_row(type, weights.data() + n * row_bytes(type, shape.cols), w.data(), shape.cols));
      for (std::size_t row = 0; row < kRows; ++row) {
        double exact = 0.0;
        double magnitude = 0.0;
        double products = 0.0;
        for (std::size_t k = 0; k < shape.cols; ++k) {
          exact += static_cast<double>(w[k]) * x[row * shape.cols + k];
          magnitude += std::fabs(static_cast<double>(w[k]));
          products += std::fabs(static_cast<double>(w[k]) * x[row * shape.cols + k]);
        }
        EXPECT_NEAR(got[row * shape.rows + n], exact, 0.5 * step * magnitude + 2e-6 * (products + magnitude))
            << n << " " << row;
      }
    }
  }
}

TEST_P(MatmulOfType, TakesNanAndInfinityWithoutHarmAndOnlyInTheirOwnRow) {
  const TensorType type = GetParam();
  const Shape shape = shapes_of(type).back();
  const std::vector<std::byte> weights = random_weights(type, 17, shape.rows, shape.cols);
  std::vector<float> x = random_floats(18, 4 * shape.cols);
  const std::vector<float> clean = multiply(Isa::kScalar, 1, weights, type, shape, x, 4);
  x[shape.cols + 3] = std::numeric_limits<float>::quiet_NaN();
  x[2 * shape.cols + 5] = -std::numeric_limits<float>::infinity();
  const std::vector<float> reference = multiply(Isa::kScalar, 1, weights, type, shape, x, 4);
  for (const Isa isa : runnable_levels()) {
    const std::vector<float> got = multiply(isa, 2, weights, type, shape, x, 4);
    EXPECT_TRUE(same_bits(got, reference)) << isa_name(isa);
    EXPECT_TRUE(same_bits(std::span(got).first(shape.rows), std::span(clean).first(shape.rows)));
    EXPECT_TRUE(same_bits(std::span(got).last(shape.rows), std::span(clean).last(shape.rows)));
    EXPECT_TRUE(std::isnan(got[shape.rows]));
  }
}

TEST_P(MatmulOfType, KeepsEveryBitOfTheFileWhenItIsPacked) {
  const TensorType type = GetParam();
  ThreadPool pool(1);
  for (const Shape shape : shapes_of(type)) {
    const std::vector<std::byte> weights = random_weights(type, 15, shape.rows, shape.cols);
    const auto packed = PackedMatrix::pack(type, weights, shape.rows, shape.cols, pool);
    ASSERT_TRUE(packed);
    const std::size_t block = tensor_type_info(type).block_elements;
    const std::size_t skipped = shape.cols > block ? block : 0;
    for (std::size_t row = 0; row < shape.rows; ++row) {
      std::vector<std::byte> got(row_bytes(type, shape.cols - skipped));
      ASSERT_TRUE(packed->unpack(row, skipped, shape.cols - skipped, got.data()));
      const auto from = std::span(weights).subspan(row * row_bytes(type, shape.cols) + row_bytes(type, skipped));
      EXPECT_TRUE(std::equal(got.begin(), got.end(), from.begin())) << "row " << row;
    }
  }
}

// Rows that stay where they are; from `broken_from` on they can't be read.
class RowsInAFile final : public StoredRows {
 public:
  explicit RowsInAFile(std::vector<std::byte> bytes) : bytes_(std::move(bytes)), broken_from_(bytes_.size()) {}
  RowsInAFile(std::vector<std::byte> bytes, std::size_t broken_from)
      : bytes_(std::move(bytes)), broken_from_(broken_from) {}
  Status read(std::size_t offset, std::span<std::byte> out) const override {
    if (offset + out.size() > broken_from_) return Error{ErrorCode::kIo, "the file is shorter than it was", {}};
    std::memcpy(out.data(), bytes_.data() + offset, out.size());
    return {};
  }

 private:
  std::vector<std::byte> bytes_;
  std::size_t broken_from_;
};

TEST_P(MatmulOfType, GivesTheSameBitsFromRowsThatStayInTheirFile) {
  const TensorType type = GetParam();
  for (const Shape shape : shapes_of(type)) {
    const std::vector<std::byte> weights = random_weights(type, 29, shape.rows, shape.cols);
    const auto stored =
        PackedMatrix::refer(type, weights.size(), shape.rows, shape.cols, std::make_shared<RowsInAFile>(weights));
    ASSERT_TRUE(stored);
    EXPECT_FALSE(stored->in_memory());
    for (const std::size_t rows : {1, 7, 70}) {
      std::vector<float> x = random_floats(30 + rows, rows * shape.cols, 4.0F);
      for (const Isa isa : runnable_levels()) {
        ThreadPool pool(2);
        const Compute compute(isa, pool);
        Activations activations;
        ASSERT_TRUE(activations.assign(compute, view_of(x, rows, shape.cols), stored->activation_formats()));
        std::vector<float> out(rows * shape.rows, -1.0F);
        ASSERT_TRUE(matmul(compute, *stored, activations, view_of(out, rows, shape.rows)));
        EXPECT_TRUE(same_bits(out, multiply(isa, 1, weights, type, shape, x, rows)))
            << isa_name(isa) << ", " << shape.rows << " x " << shape.cols << ", " << rows << " rows";
      }
    }
    std::vector<std::byte> row(row_bytes(type, shape.cols));
    ASSERT_TRUE(stored->unpack(shape.rows - 1, 0, shape.cols, row.data()));
    EXPECT_TRUE(std::equal(row.rbegin(), row.rend(), weights.rbegin()));
  }
}

INSTANTIATE_TEST_SUITE_P(EveryType, MatmulOfType, ::testing::ValuesIn(kTypes),
                         [](const auto& tested) { return std::string(tensor_type_name(tested.param)); });

TEST(Matmul, SurvivesExtremeQuantisedValues) {
  // All weights -128 and all activations at +-127 steps: the largest products of the byte path.
  const Shape shape{16, 64};
  std::vector<std::byte> weights = random_weights(TensorType::kQ8_0, 19, shape.rows, shape.cols);
  for (std::size_t block = 0; block < weights.size() / 34; ++block) {
    for (std::size_t i = 2; i < 34; ++i) weights[block * 34 + i] = std::byte{0x80};
  }
  std::vector<float> x(shape.cols, 1.0F);
  for (std::size_t i = 0; i < x.size(); i += 3) x[i] = -1.0F;
  const std::vector<float> reference = multiply(Isa::kScalar, 1, weights, TensorType::kQ8_0, shape, x, 1);
  for (const Isa isa : runnable_levels()) {
    EXPECT_TRUE(same_bits(multiply(isa, 1, weights, TensorType::kQ8_0, shape, x, 1), reference)) << isa_name(isa);
  }
}

TEST(Matmul, ComputesSeveralProductsInOneCall) {
  ThreadPool pool(2);
  const Compute compute(runnable_levels().back(), pool);
  const std::vector<std::byte> a = random_weights(TensorType::kQ4_1, 20, 48, 64);
  const std::vector<std::byte> b = random_weights(TensorType::kF16, 21, 20, 64);
  const PackedMatrix first = PackedMatrix::pack(TensorType::kQ4_1, a, 48, 64, pool).value();
  const PackedMatrix second = PackedMatrix::pack(TensorType::kF16, b, 20, 64, pool).value();
  std::vector<float> x = random_floats(22, 5 * 64);
  Activations activations;
  ASSERT_TRUE(activations.assign(compute, view_of(x, 5, 64), first.activation_formats() | second.activation_formats()));
  std::vector<float> out1(5 * 48), out2(5 * 20), alone1(5 * 48), alone2(5 * 20);
  const std::vector<Product> products = {{&first, &activations, view_of(out1, 5, 48)},
                                         {&second, &activations, view_of(out2, 5, 20)}};
  ASSERT_TRUE(matmul(compute, products));
  ASSERT_TRUE(matmul(compute, first, activations, view_of(alone1, 5, 48)));
  ASSERT_TRUE(matmul(compute, second, activations, view_of(alone2, 5, 20)));
  EXPECT_TRUE(same_bits(out1, alone1));
  EXPECT_TRUE(same_bits(out2, alone2));
}

// Rows that are only compared give the first column of the largest value that the whole rows have; ties by weight rows
// that are equal, rows beside them that are written, a row that is no number, outputs that are not whole stripes.
TEST(Matmul, KeepsOfComparedRowsWhatTheWholeRowsHold) {
  constexpr std::size_t kRows = 70;
  constexpr std::size_t kDepth = 64;
  for (const TensorType type : {TensorType::kQ8_0, TensorType::kF16}) {
    for (const std::size_t columns : {std::size_t{1}, std::size_t{50}, std::size_t{333}}) {
      std::vector<std::byte> bytes = random_weights(type, 33, columns, kDepth);
      const std::size_t size = row_bytes(type, kDepth);
      for (std::size_t i = 40; i < columns; ++i)  // the rows from 40 on repeat the first ones
        std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>((i - 40) % 40 * size), size,
                    bytes.begin() + static_cast<std::ptrdiff_t>(i * size));
      std::vector<float> x = random_floats(34, kRows * kDepth);
      x[66 * kDepth + 1] = std::numeric_limits<float>::quiet_NaN();
      const std::vector<float> want = multiply(Isa::kScalar, 1, bytes, type, {columns, kDepth}, x, kRows);
      for (const Isa isa : runnable_levels()) {
        for (const std::size_t written : {std::size_t{0}, std::size_t{3}, std::size_t{65}}) {
          ThreadPool pool(2);
          const Compute compute(isa, pool);
          const PackedMatrix weights = PackedMatrix::pack(type, bytes, columns, kDepth, pool).value();
          Activations activations;
          ASSERT_TRUE(activations.assign(compute, view_of(x, kRows, kDepth), weights.activation_formats()));
          std::vector<float> out(written * columns);
          std::vector<RowBest> best(kRows - written);
          const Product product{
              .weights = &weights, .x = &activations, .out = view_of(out, written, columns), .best = best};
          ASSERT_TRUE(matmul(compute, std::span(&product, 1)));
          EXPECT_TRUE(same_bits(out, std::span(want).first(out.size())));
          for (std::size_t row = written; row < kRows; ++row) {
            const RowBest& got = best[row - written];
            const auto whole = std::span(want).subspan(row * columns, columns);
            EXPECT_EQ(got.spoilt(), row == 66) << row;
            if (row == 66) continue;
            EXPECT_EQ(got.column(), std::max_element(whole.begin(), whole.end()) - whole.begin()) << row;
          }
        }
      }
    }
  }
}

TEST(Matmul, AddsABiasAndWhatTheOutputHoldsAsSeparatePassesWould) {
  ThreadPool pool(2);
  const Compute compute(runnable_levels().back(), pool);
  constexpr std::size_t kRows = 70;  // more than a row tile
  constexpr std::size_t kOut = 50;   // not whole stripes
  for (const TensorType type : {TensorType::kQ4_1, TensorType::kF16}) {
    const std::vector<std::byte> bytes = random_weights(type, 29, kOut, 64);
    const PackedMatrix weights = PackedMatrix::pack(type, bytes, kOut, 64, pool).value();
    std::vector<float> x = random_floats(30, kRows * 64);
    const std::vector<float> bias = random_floats(31, kOut);
    const std::vector<float> held = random_floats(32, kRows * kOut);
    Activations activations;
    ASSERT_TRUE(activations.assign(compute, view_of(x, kRows, 64), weights.activation_formats()));
    std::vector<float> product(kRows * kOut);
    ASSERT_TRUE(matmul(compute, weights, activations, view_of(product, kRows, kOut)));
    for (const bool biased : {false, true}) {
      for (const bool adds : {false, true}) {
        std::vector<float> out = held;
        const Product one{.weights = &weights,
                          .x = &activations,
                          .out = view_of(out, kRows, kOut),
                          .bias = biased ? bias.data() : nullptr,
                          .adds = adds};
        ASSERT_TRUE(matmul(compute, std::span(&one, 1)));
        std::vector<float> want = product;
        for (std::size_t i = 0; i < want.size(); ++i) {
          if (biased) want[i] = want[i] + bias[i % kOut];
          if (adds) want[i] = held[i] + want[i];
        }
        EXPECT_TRUE(same_bits(out, want)) << biased << adds;
      }
    }
  }
}

TEST(Matmul, KeepsToTheStridesOfItsMatrices) {
  ThreadPool pool(2);
  const Compute compute(runnable_levels().back(), pool);
  for (const TensorType type : {TensorType::kQ4_1, TensorType::kF32}) {
    const std::vector<std::byte> bytes = random_weights(type, 25, 20, 64);
    const PackedMatrix weights = PackedMatrix::pack(type, bytes, 20, 64, pool).value();
    std::vector<float> x = random_floats(26, 3 * 100);
    std::vector<float> dense;
    for (std::size_t row = 0; row < 3; ++row) dense.insert(dense.end(), &x[row * 100], &x[row * 100] + 64);
    std::vector<float> out(3 * 31, -7.0F);
    Activations activations;
    ASSERT_TRUE(activations.assign(compute, {x.data(), 3, 64, 100}, weights.activation_formats()));
    ASSERT_TRUE(matmul(compute, weights, activations, {out.data(), 3, 20, 31}));
    const std::vector<float> want = multiply(Isa::kScalar, 1, bytes, type, {20, 64}, dense, 3);
    for (std::size_t row = 0; row < 3; ++row) {
      EXPECT_TRUE(same_bits(std::span(out).subspan(row * 31, 20), std::span(want).subspan(row * 20, 20)));
      for (std::size_t i = 20; i < 31; ++i) EXPECT_EQ(out[row * 31 + i], -7.0F);
    }
  }
}

TEST(Matmul, GivesManyRowsTheBitsOfFew) {
  for (const TensorType type : {TensorType::kQ8_0, TensorType::kF16}) {
    const Shape shape{17, 32};
    const std::vector<std::byte> weights = random_weights(type, 27, shape.rows, shape.cols);
    constexpr std::size_t kRows = 530;  // more than a row tile and more than a panel
    std::vector<float> x = random_floats(28, kRows * shape.cols);
    const Isa isa = runnable_levels().back();
    const std::vector<float> all = multiply(isa, 2, weights, type, shape, x, kRows);
    for (const std::size_t row : {0, 63, 64, 511, 512, 529}) {
      std::vector<float> one(&x[row * shape.cols], &x[row * shape.cols] + shape.cols);
      EXPECT_TRUE(same_bits(multiply(isa, 1, weights, type, shape, one, 1),
                            std::span(all).subspan(row * shape.rows, shape.rows)));
    }
  }
}

TEST(PackedMatrix, RowsReachTheirMatrixWhereverItIsMovedMeanwhile) {
  for (const TensorType type : {TensorType::kQ4_0, TensorType::kQ3_K}) {
    const std::vector<std::byte> weights = random_weights(type, 33, 40, 256);
    auto prepared = PackedMatrix::prepare(type, weights.size(), 40, 256);
    ASSERT_TRUE(prepared);
    const PackedRows rows = prepared->rows_to_put();
    EXPECT_TRUE(rows);
    const PackedMatrix moved = std::move(*prepared);
    const std::size_t bytes = row_bytes(type, 256);
    rows.put(32, std::span(weights).subspan(32 * bytes));
    rows.put(0, std::span(weights).first(32 * bytes));
    std::vector<std::byte> row(bytes);
    for (std::size_t i = 0; i < 40; ++i) {
      ASSERT_TRUE(moved.unpack(i, 0, 256, row.data()));
      EXPECT_TRUE(std::equal(row.begin(), row.end(), weights.begin() + static_cast<std::ptrdiff_t>(i * bytes))) << i;
    }
  }
  EXPECT_FALSE(PackedRows());
}

TEST(Matmul, SaysSoWhenRowsCannotBeReadFromTheirFileAnyMore) {
  for (const TensorType type : {TensorType::kQ4_1, TensorType::kF16, TensorType::kQ3_K}) {
    const std::vector<std::byte> weights = random_weights(type, 31, 40, 256);
    const auto stored =
        PackedMatrix::refer(type, weights.size(), 40, 256, std::make_shared<RowsInAFile>(weights, weights.size() - 1));
    ASSERT_TRUE(stored);
    ThreadPool pool(2);
    const Compute compute(Isa::kScalar, pool);
    std::vector<float> x = random_floats(32, 256);
    std::vector<float> out(40);
    Activations activations;
    ASSERT_TRUE(activations.assign(compute, view_of(x, 1, 256), stored->activation_formats()));
    const Status status = matmul(compute, *stored, activations, view_of(out, 1, 40));
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::kIo);
    std::vector<std::byte> row(row_bytes(type, 256));
    EXPECT_TRUE(stored->unpack(0, 0, 256, row.data()));
    EXPECT_FALSE(stored->unpack(39, 0, 256, row.data()));
  }
}

TEST(Matmul, RefusesShapesAndFormatsThatDoNotFit) {
  ThreadPool pool(1);
  const Compute compute(Isa::kScalar, pool);
  const std::vector<std::byte> bytes = random_weights(TensorType::kQ4_0, 23, 16, 64);
  const PackedMatrix weights = PackedMatrix::pack(TensorType::kQ4_0, bytes, 16, 64, pool).value();
  std::vector<float> x = random_floats(24, 64);
  std::vector<float> out(16);
  Activations activations;
  ASSERT_TRUE(activations.assign(compute, view_of(x, 1, 64), ActivationFormats::kNone));
  EXPECT_FALSE(matmul(compute, weights, activations, view_of(out, 1, 16)));
  ASSERT_TRUE(activations.assign(compute, view_of(x, 2, 32), ActivationFormats::kBlock32));
  EXPECT_FALSE(matmul(compute, weights, activations, view_of(out, 1, 16)));
}

TEST(PackedMatrix, RefusesWhatIsNoMatrixOfItsTypeAndSaysWhy) {
  ThreadPool pool(1);
  const std::vector<std::byte> bytes(18 * 2 * 4);
  EXPECT_TRUE(PackedMatrix::pack(TensorType::kQ4_0, bytes, 4, 64, pool));
  EXPECT_FALSE(PackedMatrix::pack(TensorType::kQ4_0, bytes, 4, 65, pool));
  EXPECT_FALSE(PackedMatrix::pack(TensorType::kQ4_0, bytes, 5, 64, pool));
  EXPECT_FALSE(PackedMatrix::pack(TensorType::kQ4_0, bytes, 0, 64, pool));
  EXPECT_FALSE(PackedMatrix::pack(TensorType::kQ4_0, bytes, std::size_t{1} << 62U, 64, pool));
  EXPECT_FALSE(PackedMatrix::pack(TensorType::kI32, bytes, 1, 36, pool));
}

}  // namespace
}  // namespace takt
