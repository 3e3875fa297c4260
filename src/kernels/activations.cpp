#include "kernels/activations.h"

namespace takt {
namespace {

constexpr std::size_t kValuesPerTask = 8192;  // far more work than handing out a task

// That hold n values at most.
std::size_t blocks_of(std::size_t n) {
  return n / kActivationBlock + 1;
}

}  // namespace

std::size_t Activations::bytes(std::size_t rows, std::size_t cols) {
  const std::size_t n = rows * cols;
  return n + blocks_of(n) * (2 * sizeof(float) + sizeof(std::int32_t) + 2 * sizeof(std::int16_t));
}

Status Activations::reserve(std::size_t rows, std::size_t cols) {
  const std::size_t n = rows * cols;
  const std::size_t blocks = blocks_of(n);
  const bool ok = int8_values_.reserve(n) && scales_.reserve(blocks * sizeof(float)) &&
                  offsets_.reserve(blocks * sizeof(std::int32_t)) && scaled_sums_.reserve(blocks * sizeof(float)) &&
                  half_sums_.reserve(2 * blocks * sizeof(std::int16_t));
  if (!ok) return Error{ErrorCode::kResourceExhausted, "no memory for the activations of a step", {}};
  return {};
}

void Activations::quantise_row(const Compute& compute, std::size_t row) {
  const std::size_t cols = values_.cols;
  const std::size_t at = row * (cols / kActivationBlock);
  compute.kernels.quantise_32(values_.row(row), cols,
                              {.values = int8_values_.as<std::int8_t>() + row * cols,
                               .scales = scales_.as<float>() + at,
                               .offsets = offsets_.as<std::int32_t>() + at,
                               .scaled_sums = scaled_sums_.as<float>() + at,
                               .half_sums = half_sums_.as<std::int16_t>() + 2 * at});
}

template <typename Make>
Status Activations::fill(const Compute& compute, ConstMatrixView rows, ActivationFormats formats, const Make& make) {
  values_ = rows;
  formats_ = formats;
  if (rows.rows == 0 || rows.cols == 0) return {};
  const bool quantises = formats != ActivationFormats::kNone;
  if (quantises) {
    if (Status status = reserve(rows.rows, rows.cols); !status) return status;
  }
  const std::size_t per_task = kValuesPerTask / rows.cols + 1;
  struct Job {
    Activations& self;
    const Compute& compute;
    const Make& make;
    std::size_t per_task;
    bool quantises;
  } job{*this, compute, make, per_task, quantises};
  compute.pool.run((rows.rows + per_task - 1) / per_task, [&job](std::size_t task, int) {
    const std::size_t end = (task + 1) * job.per_task;
    for (std::size_t row = task * job.per_task; row < end && row < job.self.values_.rows; ++row) {
      job.make(row);
      if (job.quantises) job.self.quantise_row(job.compute, row);
    }
  });
  return {};
}

Status Activations::assign(const Compute& compute, ConstMatrixView rows, ActivationFormats formats) {
  if (formats == ActivationFormats::kNone) {
    values_ = rows;
    formats_ = formats;
    return {};
  }
  return fill(compute, rows, formats, [](std::size_t) {});
}

Status Activations::assign_normalised(const Compute& compute, ConstMatrixView x, const float* weight, float epsilon,
                                      MatrixView out, ActivationFormats formats) {
  return fill(compute, out, formats,
              [&](std::size_t row) { compute.kernels.rms_norm(x.row(row), weight, out.row(row), x.cols, epsilon); });
}

Status Activations::assign_gated(const Compute& compute, MatrixView gate, ConstMatrixView up,
                                 ActivationFormats formats) {
  return fill(compute, gate, formats,
              [&](std::size_t row) { compute.kernels.silu_multiply(gate.row(row), up.row(row), gate.cols); });
}

QuantisedRows Activations::quantised(std::size_t first) const {
  const std::size_t cols = values_.cols;
  const std::size_t blocks = cols / kActivationBlock;
  return {.values = int8_values_.as<std::int8_t>() + first * cols,
          .value_stride = cols,
          .scales = scales_.as<float>() + first * blocks,
          .offsets = offsets_.as<std::int32_t>() + first * blocks,
          .scaled_sums = scaled_sums_.as<float>() + first * blocks,
          .half_sums = half_sums_.as<std::int16_t>() + 2 * first * blocks,
          .block_stride = blocks};
}

}  // namespace takt
