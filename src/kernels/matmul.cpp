#include "kernels/matmul.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "kernels/dequantise.h"

namespace takt {
namespace {

constexpr std::size_t kRowTile = 64;       // rows of one kernel call on quantised stripes
constexpr std::size_t kPanelRows = 512;    // rows that share one unpacked tile of floats
constexpr std::size_t kTileDepth = 256;    // k of such a tile; a multiple of every block length
constexpr std::size_t kTaskBytes = 24576;  // weights of a task at least: far more than handing it out costs
constexpr std::size_t kTasksPerThread =
    4;  // where there is enough work, so that a slow thread leaves the rest to others

struct Task {
  const Compute* compute;
  std::span<const Product> products;
  std::array<std::size_t, kMostProducts> first;    // first task of each product
  std::array<std::size_t, kMostProducts> stripes;  // stripes per task
};

void copy_lanes(const float* lanes, std::size_t rows, const Product& p, std::size_t stripe, std::size_t first_row) {
  const std::size_t column = stripe * kLanes;
  const std::size_t count = std::min(kLanes, p.out.cols - column);
  for (std::size_t r = 0; r < rows; ++r)
    std::memcpy(p.out.row(first_row + r) + column, lanes + r * kLanes, count * sizeof(float));
}

using StripeKernel = void (*)(const StripeProduct&);

// For types whose products take quantised activations.
StripeKernel stripe_kernel(const KernelTable& kernels, TensorType type) {
  switch (type) {
    case TensorType::kQ4_0:
      return kernels.stripe_q4_0;
    case TensorType::kQ4_1:
      return kernels.stripe_q4_1;
    case TensorType::kQ5_0:
      return kernels.stripe_q5_0;
    case TensorType::kQ5_1:
      return kernels.stripe_q5_1;
    case TensorType::kIQ4_NL:
      return kernels.stripe_iq4_nl;
    case TensorType::kQ4_K:
      return kernels.stripe_q4_k;
    case TensorType::kQ5_K:
      return kernels.stripe_q5_k;
    case TensorType::kQ6_K:
      return kernels.stripe_q6_k;
    case TensorType::kIQ4_XS:
      return kernels.stripe_iq4_xs;
    default:
      return kernels.stripe_q8_0;
  }
}

void quantised_stripe(const KernelTable& kernels, const Product& p, std::size_t stripe) {
  alignas(64) float lanes[kRowTile * kLanes];
  const StripeKernel kernel = stripe_kernel(kernels, p.weights->type());
  for (std::size_t row = 0; row < p.out.rows; row += kRowTile) {
    const std::size_t rows = std::min(kRowTile, p.out.rows - row);
    kernel({.stripe = p.weights->stripe(stripe),
            .blocks = p.weights->cols() / kActivationBlock,
            .x = p.x->quantised(row),
            .rows = rows,
            .out = lanes});
    copy_lanes(lanes, rows, p, stripe, row);
  }
}

// 16 rows of the file from k on, as [depth][16]; rows beyond the matrix are zero.
void dequantise_tile(const PackedMatrix& weights, std::size_t stripe, std::size_t k, std::size_t depth, float* tile) {
  alignas(64) float values[kTileDepth];
  const std::size_t offset = row_bytes(weights.type(), k);
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const std::size_t row = stripe * kLanes + lane;
    if (row < weights.rows()) {
      dequantise_row(weights.type(), weights.file_row(row) + offset, values, depth);
    } else {
      std::fill_n(values, depth, 0.0F);
    }
    for (std::size_t i = 0; i < depth; ++i) tile[i * kLanes + lane] = values[i];
  }
}

// The stripe's weights from k on in F32: where they lie, or made in `tile`.
const float* float_tile(const KernelTable& kernels, const PackedMatrix& weights, std::size_t stripe, std::size_t k,
                        std::size_t depth, float* tile) {
  const std::size_t n = depth * kLanes;
  switch (weights.type()) {
    case TensorType::kF32:
      return reinterpret_cast<const float*>(weights.stripe(stripe)) + k * kLanes;
    case TensorType::kF16:
      kernels.widen_half(reinterpret_cast<const std::uint16_t*>(weights.stripe(stripe)) + k * kLanes, tile, n);
      return tile;
    case TensorType::kBF16:
      kernels.widen_bfloat(reinterpret_cast<const std::uint16_t*>(weights.stripe(stripe)) + k * kLanes, tile, n);
      return tile;
    default:
      dequantise_tile(weights, stripe, k, depth, tile);
      return tile;
  }
}

void float_stripe(const KernelTable& kernels, const Product& p, std::size_t stripe) {
  alignas(64) float tile[kTileDepth * kLanes];
  alignas(64) float sums[kPanelRows * kLanes];
  const ConstMatrixView& x = p.x->values();
  for (std::size_t row = 0; row < x.rows; row += kPanelRows) {
    const std::size_t rows = std::min(kPanelRows, x.rows - row);
    std::fill_n(sums, rows * kLanes, 0.0F);
    for (std::size_t k = 0; k < x.cols; k += kTileDepth) {
      const std::size_t depth = std::min(kTileDepth, x.cols - k);
      kernels.tile_f32({.tile = float_tile(kernels, *p.weights, stripe, k, depth, tile),
                        .depth = depth,
                        .x = x.row(row) + k,
                        .x_stride = x.stride,
                        .rows = rows,
                        .sums = sums});
    }
    copy_lanes(sums, rows, p, stripe, row);
  }
}

void run_task(const Task& task, std::size_t index) {
  std::size_t which = 0;
  while (which + 1 < task.products.size() && index >= task.first[which + 1]) ++which;
  const Product& product = task.products[which];
  const std::size_t begin = (index - task.first[which]) * task.stripes[which];
  const std::size_t end = std::min(begin + task.stripes[which], product.weights->stripes());
  const bool quantised = product.weights->activation_formats() != ActivationFormats::kNone;
  for (std::size_t stripe = begin; stripe < end; ++stripe) {
    if (quantised) {
      quantised_stripe(task.compute->kernels, product, stripe);
    } else {
      float_stripe(task.compute->kernels, product, stripe);
    }
  }
}

Status check(const Product& p) {
  const ConstMatrixView& x = p.x->values();
  const ActivationFormats needed = p.weights->activation_formats();
  if (x.cols != p.weights->cols() || p.out.rows != x.rows || p.out.cols != p.weights->rows()) {
    return Error::internal("matmul: the shapes of weights, activations and output do not fit");
  }
  if (needed != ActivationFormats::kNone && !contains(p.x->formats(), needed)) {
    return Error::internal("matmul: the activations were not quantised to the format that the weights need");
  }
  return {};
}

}  // namespace

Status matmul(const Compute& compute, std::span<const Product> products) {
  if (products.size() > kMostProducts) return Error::internal("matmul: too many products in one call");
  for (const Product& p : products) {
    if (Status status = check(p); !status) return status;
  }
  Task task{&compute, products, {}, {}};
  const std::size_t threads = static_cast<std::size_t>(compute.pool.threads());
  std::size_t tasks = 0;
  for (std::size_t i = 0; i < products.size(); ++i) {
    const PackedMatrix& w = *products[i].weights;
    const std::size_t work =
        std::max<std::size_t>(1, w.read_bytes() / w.stripes()) * std::max<std::size_t>(1, products[i].out.rows);
    const std::size_t by_size = kTaskBytes / work + 1;
    const std::size_t by_threads = std::max<std::size_t>(1, w.stripes() / (kTasksPerThread * threads));
    task.first[i] = tasks;
    task.stripes[i] = std::min(by_size, by_threads);
    tasks += products[i].out.rows == 0 ? 0 : (w.stripes() + task.stripes[i] - 1) / task.stripes[i];
  }
  compute.pool.run(tasks, [&task](std::size_t index, int) { run_task(task, index); });
  return {};
}

}  // namespace takt
