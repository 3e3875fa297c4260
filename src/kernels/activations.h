// The input rows of a layer's products, quantised once and used by all of them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "kernels/aligned_buffer.h"
#include "kernels/compute.h"
#include "kernels/matrix_view.h"
#include "kernels/packed_matrix.h"
#include "kernels/stripe_layout.h"

namespace takt {

class Activations {
 public:
  // Room for `rows` rows of `cols` values in every format, so that assign() does not allocate. kResourceExhausted
  // without memory.
  Status reserve(std::size_t rows, std::size_t cols);
  // What that takes.
  static std::size_t bytes(std::size_t rows, std::size_t cols);

  // Takes the rows (they are referred to until the next assign) and quantises them to `formats`; for kBlock32 cols is a
  // multiple of 32. Grows when reserve() gave too little.
  Status assign(const Compute& compute, ConstMatrixView rows, ActivationFormats formats);

  // The same for rows that are made on the way, each quantised as soon as it is there.
  // out = x / sqrt(mean(x^2) + epsilon) * weight, row by row (Zhang and Sennrich, "Root Mean Square Layer
  // Normalization", section 4). weight: x.cols values. out may be x.
  Status assign_normalised(const Compute& compute, ConstMatrixView x, const float* weight, float epsilon,
                           MatrixView out, ActivationFormats formats);
  // gate = silu(gate) * up.
  Status assign_gated(const Compute& compute, MatrixView gate, ConstMatrixView up, ActivationFormats formats);

  const ConstMatrixView& values() const { return values_; }
  ActivationFormats formats() const { return formats_; }

  // Rows from `first` in kBlock32.
  QuantisedRows quantised(std::size_t first) const;

 private:
  // Calls make(row) before it quantises a row.
  template <typename Make>
  Status fill(const Compute& compute, ConstMatrixView rows, ActivationFormats formats, const Make& make);
  void quantise_row(const Compute& compute, std::size_t row);

  ConstMatrixView values_;
  ActivationFormats formats_ = ActivationFormats::kNone;
  AlignedBuffer int8_values_, scales_, offsets_, scaled_sums_, half_sums_;
};

}  // namespace takt
