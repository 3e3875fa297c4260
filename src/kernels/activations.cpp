#include "kernels/activations.h"

namespace takt {
namespace {

// Rows of a task: enough to be worth handing out.
constexpr std::size_t kQuantisedValuesPerTask = 8192;

}  // namespace

Status Activations::reserve(std::size_t rows, std::size_t cols) {
  const std::size_t n = rows * cols;
  const std::size_t blocks = n / kActivationBlock + 1;
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

Status Activations::assign(const Compute& compute, ConstMatrixView rows, ActivationFormats formats) {
  values_ = rows;
  formats_ = formats;
  if (formats == ActivationFormats::kNone || rows.rows == 0) return {};
  if (Status status = reserve(rows.rows, rows.cols); !status) return status;
  const std::size_t per_task = kQuantisedValuesPerTask / rows.cols + 1;
  const std::size_t tasks = (rows.rows + per_task - 1) / per_task;
  struct Job {
    Activations* self;
    const Compute* compute;
    std::size_t per_task;
  } job{this, &compute, per_task};
  compute.pool.run(tasks, [&job](std::size_t task, int) {
    const std::size_t end = (task + 1) * job.per_task;
    for (std::size_t row = task * job.per_task; row < end && row < job.self->values_.rows; ++row)
      job.self->quantise_row(*job.compute, row);
  });
  return {};
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
