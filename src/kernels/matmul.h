// Products of activation rows and weight matrices: out[m][n] = sum over k of x[m][k] * w[n][k], in the canonical order
// of docs/numerics.md. The bits of a row of `out` depend on its row of x and on the weights alone.
#pragma once

#include <span>

#include "base/result.h"
#include "kernels/activations.h"
#include "kernels/compute.h"
#include "kernels/matrix_view.h"
#include "kernels/packed_matrix.h"
#include "kernels/row_best.h"

namespace takt {

// x holds the format that `weights` needs; out is the first rows of x by weights' rows and overlaps nothing. The other
// rows of x are not written: each is only offered to its element of `best`.
struct Product {
  const PackedMatrix* weights = nullptr;
  const Activations* x = nullptr;
  MatrixView out;
  std::span<RowBest> best = {};
  const float* bias = nullptr;  // added to each row of the product; null: none
  bool adds = false;            // to what out holds, instead of taking its place
};

// Computes all of them in one run of the team. At most kMostProducts. kInternal when shapes or formats do not fit;
// nothing is then written. kIo, kResourceExhausted: weights that stay in a file could not be read; what is written is
// then of no use.
inline constexpr std::size_t kMostProducts = 8;
Status matmul(const Compute& compute, std::span<const Product> products);

inline Status matmul(const Compute& compute, const PackedMatrix& weights, const Activations& x, MatrixView out) {
  const Product product{.weights = &weights, .x = &x, .out = out};
  return matmul(compute, std::span(&product, 1));
}

}  // namespace takt
