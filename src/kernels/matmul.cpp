#include "kernels/matmul.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <utility>

#include "kernels/aligned_buffer.h"
#include "kernels/dequantise.h"

namespace takt {
namespace {

constexpr std::size_t kRowTile = 64;      // rows of one kernel call on quantised stripes
constexpr std::size_t kPanelRows = 512;   // rows that share one unpacked tile of floats
constexpr std::size_t kTileDepth = 256;   // k of such a tile; a multiple of every block length
constexpr std::size_t kItemBytes = 8192;  // weights of an item times its rows, at least: far more than taking it costs

// An item is some stripes times some rows; those of a stripe follow each other, so that it stays in the cache.
struct ItemsOfProduct {
  std::size_t first = 0;    // item
  std::size_t stripes = 1;  // per item
  std::size_t rows = 1;     // per item
  std::size_t row_parts = 1;
};

// The first error of the threads that read stripes from a file.
class FirstError {
 public:
  void keep(const Error& error) {
    std::lock_guard lock(mutex_);
    if (status_.ok()) status_ = error;
  }
  // When no thread keeps anything any more.
  Status take() { return std::move(status_); }

 private:
  std::mutex mutex_;
  Status status_;
};

struct Run {
  const Compute* compute;
  std::span<const Product> products;
  FirstError* error;
  std::array<ItemsOfProduct, kMostProducts> items;
};

struct RowRange {
  std::size_t first;
  std::size_t count;
};

// Stripe `index` of a matrix, as PackedMatrix::stripe() has it.
struct LocatedStripe {
  std::size_t index;
  const std::byte* bytes;
};

// The lanes of rows that are only compared. Few stripes hold a new best, so its lane is looked for then only.
void offer_best(const KernelTable& kernels, const float* lanes, std::span<RowBest> rows, std::size_t column) {
  float maxima[kPanelRows];
  kernels.lane_maxima(lanes, rows.size(), maxima);
  for (std::size_t r = 0; r < rows.size(); ++r, lanes += kLanes) {
    if (!rows[r].may_take(maxima[r])) continue;
    if (std::isnan(maxima[r])) {
      rows[r].spoil();
    } else {
      const std::size_t lane = static_cast<std::size_t>(std::find(lanes, lanes + kLanes, maxima[r]) - lanes);
      rows[r].offer(maxima[r], static_cast<std::uint32_t>(column + lane));
    }
  }
}

// What a stripe gave for some rows, to the output or to the rows' best.
void deliver(const KernelTable& kernels, float* lanes, RowRange rows, const Product& p, std::size_t stripe) {
  const std::size_t column = stripe * kLanes;
  const std::size_t count = std::min(kLanes, p.weights->rows() - column);
  if (p.bias != nullptr) {
    for (std::size_t r = 0; r < rows.count; ++r) {
      for (std::size_t i = 0; i < count; ++i) lanes[r * kLanes + i] = lanes[r * kLanes + i] + p.bias[column + i];
    }
  }
  const std::size_t written = std::clamp(p.out.rows, rows.first, rows.first + rows.count) - rows.first;
  if (written < rows.count) {
    float* compared = lanes + written * kLanes;
    for (std::size_t r = 0; r < rows.count - written && count < kLanes; ++r)
      std::fill(compared + r * kLanes + count, compared + (r + 1) * kLanes, -std::numeric_limits<float>::infinity());
    offer_best(kernels, compared, p.best.subspan(rows.first + written - p.out.rows, rows.count - written), column);
  }
  for (std::size_t r = 0; r < written; ++r, lanes += kLanes) {
    float* out = p.out.row(rows.first + r) + column;
    if (p.adds) {
      for (std::size_t i = 0; i < count; ++i) out[i] = out[i] + lanes[i];
    } else {
      std::memcpy(out, lanes, count * sizeof(float));
    }
  }
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

// At most kRowTile rows.
void quantised_stripe(const KernelTable& kernels, const Product& p, const LocatedStripe& stripe, RowRange rows) {
  alignas(64) float lanes[kRowTile * kLanes];
  stripe_kernel(kernels, p.weights->type())({.stripe = stripe.bytes,
                                             .blocks = p.weights->cols() / kActivationBlock,
                                             .x = p.x->quantised(rows.first),
                                             .rows = rows.count,
                                             .out = lanes});
  deliver(kernels, lanes, rows, p, stripe.index);
}

// 16 rows of the file from k on, as [depth][16]; rows beyond the matrix are zero.
void dequantise_tile(const PackedMatrix& weights, const LocatedStripe& stripe, std::size_t k, std::size_t depth,
                     float* tile) {
  alignas(64) float values[kTileDepth];
  const std::size_t row_size = row_bytes(weights.type(), weights.cols());
  const std::size_t offset = row_bytes(weights.type(), k);
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    if (stripe.index * kLanes + lane < weights.rows()) {
      dequantise_row(weights.type(), stripe.bytes + lane * row_size + offset, values, depth);
    } else {
      std::fill_n(values, depth, 0.0F);
    }
    for (std::size_t i = 0; i < depth; ++i) tile[i * kLanes + lane] = values[i];
  }
}

// The stripe's weights from k on in F32: where they lie, or made in `tile`.
const float* float_tile(const KernelTable& kernels, const PackedMatrix& weights, const LocatedStripe& stripe,
                        std::size_t k, std::size_t depth, float* tile) {
  const std::size_t n = depth * kLanes;
  switch (weights.type()) {
    case TensorType::kF32:
      return reinterpret_cast<const float*>(stripe.bytes) + k * kLanes;
    case TensorType::kF16:
      kernels.widen_half(reinterpret_cast<const std::uint16_t*>(stripe.bytes) + k * kLanes, tile, n);
      return tile;
    case TensorType::kBF16:
      kernels.widen_bfloat(reinterpret_cast<const std::uint16_t*>(stripe.bytes) + k * kLanes, tile, n);
      return tile;
    default:
      dequantise_tile(weights, stripe, k, depth, tile);
      return tile;
  }
}

// At most kPanelRows rows.
void float_stripe(const KernelTable& kernels, const Product& p, const LocatedStripe& stripe, RowRange rows) {
  alignas(64) float tile[kTileDepth * kLanes];
  alignas(64) float sums[kPanelRows * kLanes];
  const ConstMatrixView& x = p.x->values();
  std::fill_n(sums, rows.count * kLanes, 0.0F);
  for (std::size_t k = 0; k < x.cols; k += kTileDepth) {
    const std::size_t depth = std::min(kTileDepth, x.cols - k);
    kernels.tile_f32({.tile = float_tile(kernels, *p.weights, stripe, k, depth, tile),
                      .depth = depth,
                      .x = x.row(rows.first) + k,
                      .x_stride = x.stride,
                      .rows = rows.count,
                      .sums = sums});
  }
  deliver(kernels, sums, rows, p, stripe.index);
}

bool takes_int8(const Product& product) {
  return product.weights->activation_formats() != ActivationFormats::kNone;
}
// Rows of one kernel call.
std::size_t row_tile(const Product& product) {
  return takes_int8(product) ? kRowTile : kPanelRows;
}

// A stripe that stays in a file is read into memory of this thread, which the next one needs again.
Result<LocatedStripe> locate(const PackedMatrix& weights, std::size_t stripe) {
  if (weights.in_memory()) return LocatedStripe{stripe, weights.stripe(stripe)};
  thread_local AlignedBuffer memory;
  if (Status status = weights.read_stripe(stripe, memory); !status) return status.error();
  return LocatedStripe{stripe, memory.data()};
}

void compute_stripe(const KernelTable& kernels, const Product& product, const LocatedStripe& stripe, RowRange rows) {
  const std::size_t tile = row_tile(product);
  for (std::size_t done = 0; done < rows.count; done += tile) {
    const RowRange part{rows.first + done, std::min(tile, rows.count - done)};
    if (takes_int8(product)) {
      quantised_stripe(kernels, product, stripe, part);
    } else {
      float_stripe(kernels, product, stripe, part);
    }
  }
}

void compute_item(const Run& run, std::size_t index) {
  std::size_t which = 0;
  while (which + 1 < run.products.size() && index >= run.items[which + 1].first) ++which;
  const Product& product = run.products[which];
  const ItemsOfProduct& items = run.items[which];
  const std::size_t place = index - items.first;
  const std::size_t begin = place / items.row_parts * items.stripes;
  const std::size_t end = std::min(begin + items.stripes, product.weights->stripes());
  const std::size_t first_row = place % items.row_parts * items.rows;
  const RowRange rows{first_row, std::min(items.rows, product.x->values().rows - first_row)};
  for (std::size_t i = begin; i < end; ++i) {
    const Result<LocatedStripe> stripe = locate(*product.weights, i);
    if (!stripe) return run.error->keep(stripe.error());
    compute_stripe(run.compute->kernels, product, *stripe, rows);
  }
}

// How a product is cut, and into how many items. Reading a stripe from a file and packing it costs more than computing
// with it, so that all rows share one reading.
std::size_t cut(const Product& product, ItemsOfProduct& items) {
  const PackedMatrix& w = *product.weights;
  const std::size_t rows = product.x->values().rows;
  if (rows == 0) return 0;
  items.rows = w.in_memory() ? std::min(rows, row_tile(product)) : rows;
  items.row_parts = (rows + items.rows - 1) / items.rows;
  items.stripes = kItemBytes / std::max<std::size_t>(1, w.read_bytes() / w.stripes() * items.rows) + 1;
  return (w.stripes() + items.stripes - 1) / items.stripes * items.row_parts;
}

Status check(const Product& p) {
  const ConstMatrixView& x = p.x->values();
  const ActivationFormats needed = p.weights->activation_formats();
  const bool fits = x.cols == p.weights->cols() && p.out.rows + p.best.size() == x.rows &&
                    (p.out.rows == 0 || p.out.cols == p.weights->rows());
  if (!fits) {
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
  FirstError error;
  Run run{&compute, products, &error, {}};
  std::size_t items = 0;
  for (std::size_t i = 0; i < products.size(); ++i) {
    run.items[i].first = items;
    items += cut(products[i], run.items[i]);
  }
  compute.pool.run_neighbours(items, [&run](std::size_t index, int) { compute_item(run, index); });
  return error.take();
}

}  // namespace takt
