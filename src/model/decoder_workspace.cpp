#include "model/decoder_workspace.h"

#include <algorithm>

namespace takt {
namespace {

// What a product's activations can be at most.
std::size_t most_rows(const WorkspaceLimits& limits) {
  return std::max(limits.rows, limits.logit_rows);
}
std::size_t widest_input(const WorkspaceShape& shape) {
  return std::max({shape.embedding, shape.queries, shape.feed_forward});
}

}  // namespace

std::array<DecoderWorkspace::Extent, kBufferCount> DecoderWorkspace::extents(const WorkspaceShape& shape,
                                                                             const WorkspaceLimits& limits) {
  const std::size_t expert_rows = shape.experts > 0 ? limits.rows : 0;
  return {{{limits.rows, shape.embedding},
           {limits.rows, shape.embedding},
           {limits.rows, shape.queries},
           {limits.rows, shape.keys},
           {limits.rows, shape.keys},
           {limits.rows, shape.queries},
           {limits.rows, shape.feed_forward},
           {limits.rows, shape.feed_forward},
           {expert_rows, shape.embedding},
           {expert_rows, shape.embedding},
           {expert_rows, shape.embedding},
           {expert_rows, shape.experts},
           {limits.logit_rows, shape.embedding}}};
}

std::size_t DecoderWorkspace::bytes(const WorkspaceShape& shape, const WorkspaceLimits& limits) {
  std::size_t floats = 0;
  for (const Extent& extent : extents(shape, limits)) floats += extent.rows * extent.cols;
  return floats * sizeof(float) + Activations::bytes(most_rows(limits), widest_input(shape));
}

Status DecoderWorkspace::reserve(const WorkspaceShape& shape, const WorkspaceLimits& limits) {
  const auto wanted = extents(shape, limits);
  for (std::size_t i = 0; i < kBufferCount; ++i) {
    widths_[i] = wanted[i].cols;
    if (!buffers_[i].reserve(wanted[i].rows * wanted[i].cols * sizeof(float))) {
      return Error{ErrorCode::kResourceExhausted, "no memory for the workspace of a step", {}};
    }
  }
  limits_ = limits;
  return activations.reserve(most_rows(limits), widest_input(shape));
}

MatrixView DecoderWorkspace::view(Buffer buffer, std::size_t rows) {
  const auto index = static_cast<std::size_t>(buffer);
  return {buffers_[index].as<float>(), rows, widths_[index], widths_[index]};
}

}  // namespace takt
