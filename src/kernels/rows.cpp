#include "kernels/rows.h"

#include <algorithm>
#include <limits>

#include "kernels/dequantise.h"
#include "kernels/math.h"

namespace takt {
namespace {

constexpr std::size_t kRowValuesPerTask = 8192;  // far more work than handing out a task

// Calls body(row) for every row, spread over the team.
template <typename Body>
void for_rows(const Compute& compute, std::size_t rows, std::size_t cols, const Body& body) {
  if (rows == 0 || cols == 0) return;
  const std::size_t per_task = kRowValuesPerTask / cols + 1;
  struct Job {
    const Body& body;
    std::size_t rows;
    std::size_t per_task;
  } job{body, rows, per_task};
  compute.pool.run((rows + per_task - 1) / per_task, [&job](std::size_t task, int) {
    const std::size_t end = std::min(job.rows, (task + 1) * job.per_task);
    for (std::size_t row = task * job.per_task; row < end; ++row) job.body(row);
  });
}

}  // namespace

void add(const Compute& compute, MatrixView x, ConstMatrixView y) {
  for_rows(compute, x.rows, x.cols, [&](std::size_t row) { compute.kernels.add(x.row(row), y.row(row), x.cols); });
}

void RopeAngles::assign(std::span<const std::uint32_t> positions, std::span<const double> frequencies,
                        float magnitude) {
  rows_ = positions.size();
  pairs_ = frequencies.size();
  cos_.resize(rows_ * pairs_);
  sin_.resize(rows_ * pairs_);
  for (std::size_t row = 0; row < rows_; ++row) {
    for (std::size_t i = 0; i < pairs_; ++i) {
      const SinCos turn = sin_cos_f64(static_cast<double>(positions[row]) * frequencies[i]);
      cos_[row * pairs_ + i] = static_cast<float>(turn.cos * static_cast<double>(magnitude));
      sin_[row * pairs_ + i] = static_cast<float>(turn.sin * static_cast<double>(magnitude));
    }
  }
}

double rope_frequency(double base, std::size_t pair, std::size_t dims) {
  return exp_f64(-2.0 * static_cast<double>(pair) / static_cast<double>(dims) * log_f64(base));
}

void apply_rope(const Compute& compute, const RopeAngles& angles, RopeOrder order, std::size_t head_dim, MatrixView x) {
  auto* turn = order == RopeOrder::kAdjacent ? compute.kernels.rope_adjacent : compute.kernels.rope_halves;
  for_rows(compute, std::min(x.rows, angles.rows()), x.cols, [&](std::size_t row) {
    turn({.heads = x.row(row),
          .head_count = x.cols / head_dim,
          .head_dim = head_dim,
          .cos = angles.cos(row),
          .sin = angles.sin(row),
          .pairs = angles.pairs()});
  });
}

Status look_up_rows(const PackedMatrix& table, std::span<const std::int32_t> ids, MatrixView out) {
  constexpr std::size_t kPiece = 256;  // values; whole blocks of every type
  alignas(64) std::byte bytes[kPiece * sizeof(float)];
  if (out.cols != table.cols() || out.rows < ids.size())
    return Error::internal("embedding: the output does not fit the table's rows");
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || static_cast<std::size_t>(ids[i]) >= table.rows())
      return Error::internal("embedding: a token outside the table");
    for (std::size_t k = 0; k < out.cols; k += kPiece) {
      const std::size_t count = std::min(kPiece, out.cols - k);
      if (Status status = table.unpack(static_cast<std::size_t>(ids[i]), k, count, bytes); !status) return status;
      if (!dequantise_row(table.type(), bytes, out.row(i) + k, count))
        return Error::internal("embedding: the table's type cannot be computed with");
    }
  }
  return {};
}

float log_sum_exp(const Compute& compute, std::span<const float> logits) {
  const float most = compute.kernels.max(logits.data(), logits.size());
  if (most == -std::numeric_limits<float>::infinity()) return most;
  return most + log_f32(compute.kernels.exp_sum(logits.data(), logits.size(), most, nullptr));
}

std::size_t argmax(const Compute& compute, std::span<const float> values) {
  const float most = compute.kernels.max(values.data(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] == most) return i;
  }
  return 0;
}

}  // namespace takt
