// The functions between the products, over matrices of F32 rows. A row's bits depend on that row alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "kernels/compute.h"
#include "kernels/matrix_view.h"
#include "kernels/packed_matrix.h"

namespace takt {

// x += y.
void add(const Compute& compute, MatrixView x, ConstMatrixView y);

// Rotary position embedding (Su et al., "RoFormer", section 3.4). The angles of a step's rows, shared by all its
// layers.
enum class RopeOrder : std::uint8_t {
  kAdjacent,  // pairs (2i, 2i + 1): llama files
  kHalves     // pairs (i, pairs + i): "NeoX"
};

class RopeAngles {
 public:
  // One row per position; pair i turns by position * frequencies[i]. The magnitude multiplies sine and cosine (YaRN's
  // attention factor; else 1).
  void assign(std::span<const std::uint32_t> positions, std::span<const double> frequencies, float magnitude);

  std::size_t rows() const { return rows_; }
  std::size_t pairs() const { return pairs_; }
  const float* cos(std::size_t row) const { return cos_.data() + row * pairs_; }
  const float* sin(std::size_t row) const { return sin_.data() + row * pairs_; }

 private:
  std::size_t rows_ = 0;
  std::size_t pairs_ = 0;
  std::vector<float> cos_, sin_;
};

// base^(-2 * pair / dims)
double rope_frequency(double base, std::size_t pair, std::size_t dims);

// Turns the first 2 * angles.pairs() values of every head; x: heads of head_dim values, one row per row of angles.
void apply_rope(const Compute& compute, const RopeAngles& angles, RopeOrder order, std::size_t head_dim, MatrixView x);

// Rows of an embedding table, which may be the output layer's matrix too. Errors: kInternal (an id outside the table,
// an output of another width), kIo (a table that stays in its file).
Status look_up_rows(const PackedMatrix& table, std::span<const std::int32_t> ids, MatrixView out);

// log(sum of exp(logits)): the largest is taken out first; 16 lanes, then the fixed tree. log p(i) = logits[i] -
// log_sum_exp. -infinity when nothing is larger.
float log_sum_exp(const Compute& compute, std::span<const float> logits);

// The first index of the largest value; NaN is never the largest. 0 when there is nothing but NaN.
std::size_t argmax(const Compute& compute, std::span<const float> values);

}  // namespace takt
