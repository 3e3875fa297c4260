#include "kernels/activations.h"

namespace takt {
namespace {

// Rows of a task: enough to be worth handing out.
constexpr std::size_t kValuesPerTask = 8192;

}  // namespace

Status Activations::reserve(std::size_t rows, std::size_t cols) {
  const std::size_t n = rows * cols;
  const std::size_t blocks = n / kActivationBlock + 1;
  const std::size_t super_blocks = n / kSuperBlock + 1;
  const bool ok = values32_.reserve(n) && scales32_.reserve(blocks * sizeof(float)) &&
                  offsets32_.reserve(blocks * sizeof(std::int32_t)) && scaled_sums32_.reserve(blocks * sizeof(float)) &&
                  values256_.reserve(n) && scales256_.reserve(super_blocks * sizeof(float)) &&
                  sums256_.reserve(blocks * sizeof(std::int16_t));
  if (!ok) return Error{ErrorCode::kResourceExhausted, "no memory for the activations of a step", {}};
  return {};
}

void Activations::quantise_row(const Compute& compute, std::size_t row) {
  const std::size_t cols = values_.cols;
  if (contains(formats_, ActivationFormats::kBlock32)) {
    const std::size_t at = row * (cols / kActivationBlock);
    compute.kernels.quantise_32(values_.row(row), cols,
                                {.values = values32_.as<std::int8_t>() + row * cols,
                                 .scales = scales32_.as<float>() + at,
                                 .offsets = offsets32_.as<std::int32_t>() + at,
                                 .scaled_sums = scaled_sums32_.as<float>() + at});
  }
  if (contains(formats_, ActivationFormats::kBlock256)) {
    compute.kernels.quantise_256(values_.row(row), cols,
                                 {.values = values256_.as<std::int8_t>() + row * cols,
                                  .scales = scales256_.as<float>() + row * (cols / kSuperBlock),
                                  .sums = sums256_.as<std::int16_t>() + row * (cols / kActivationBlock)});
  }
}

Status Activations::assign(const Compute& compute, ConstMatrixView rows, ActivationFormats formats) {
  values_ = rows;
  formats_ = formats;
  if (formats == ActivationFormats::kNone || rows.rows == 0) return {};
  if (Status status = reserve(rows.rows, rows.cols); !status) return status;
  const std::size_t per_task = kValuesPerTask / rows.cols + 1;
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

QuantisedRows Activations::quantised(PackedMatrix::Path path, std::size_t first) const {
  const std::size_t cols = values_.cols;
  if (path == PackedMatrix::Path::kQ4_K) {
    const std::size_t blocks = cols / kSuperBlock;
    return {.values = values256_.as<std::int8_t>() + first * cols,
            .value_stride = cols,
            .scales = scales256_.as<float>() + first * blocks,
            .sums = sums256_.as<std::int16_t>() + first * blocks * 8,
            .block_stride = blocks};
  }
  const std::size_t blocks = cols / kActivationBlock;
  return {.values = values32_.as<std::int8_t>() + first * cols,
          .value_stride = cols,
          .scales = scales32_.as<float>() + first * blocks,
          .sums = offsets32_.as<std::int32_t>() + first * blocks,
          .scaled_sums = scaled_sums32_.as<float>() + first * blocks,
          .block_stride = blocks};
}

}  // namespace takt
