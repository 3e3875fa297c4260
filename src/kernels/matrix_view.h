// Row-major F32 matrices that somebody else owns.
#pragma once

#include <cstddef>

namespace takt {

struct ConstMatrixView {
  const float* data = nullptr;
  std::size_t rows = 0;
  std::size_t cols = 0;
  std::size_t stride = 0;  // floats from one row to the next, >= cols

  const float* row(std::size_t i) const { return data + i * stride; }
};

struct MatrixView {
  float* data = nullptr;
  std::size_t rows = 0;
  std::size_t cols = 0;
  std::size_t stride = 0;

  float* row(std::size_t i) const { return data + i * stride; }
  operator ConstMatrixView() const { return {data, rows, cols, stride}; }
};

}  // namespace takt
