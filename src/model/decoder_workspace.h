// The memory of a forward pass, allocated once for the largest step.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "kernels/activations.h"
#include "kernels/aligned_buffer.h"
#include "kernels/attention.h"
#include "kernels/matrix_view.h"
#include "kernels/rows.h"
#include "model/phase_times.h"

namespace takt {

// Widths in floats, from the model.
struct WorkspaceShape {
  std::size_t embedding = 0;
  std::size_t queries = 0;  // all query heads
  std::size_t keys = 0;     // all KV heads
  std::size_t feed_forward = 0;
  std::size_t experts = 0;  // 0: dense
  std::size_t vocabulary = 0;
};

struct WorkspaceLimits {
  std::size_t rows = 0;        // of a step
  std::size_t logit_rows = 0;  // of one call of Decoder::logits
};

// Floats of a step, row by row.
enum class Buffer : std::uint8_t {
  kHidden,      // the residual stream
  kNormalised,  // what a layer's products read
  kQueries,
  kKeys,
  kValues,
  kAttended,
  kGate,
  kUp,
  kExpertInput,
  kExpertOutput,
  kExpertSum,  // of a row's experts, weighted
  kRouter,
  kLogitRows,  // hidden states that get logits
};
inline constexpr std::size_t kBufferCount = 13;

class DecoderWorkspace {
 public:
  // Errors: kResourceExhausted.
  Status reserve(const WorkspaceShape& shape, const WorkspaceLimits& limits);

  // What reserve() takes, without taking it (attention's scratch memory, which grows with use, is not in it).
  static std::size_t bytes(const WorkspaceShape& shape, const WorkspaceLimits& limits);

  const WorkspaceLimits& limits() const { return limits_; }
  // The first `rows` rows of a buffer.
  MatrixView view(Buffer buffer, std::size_t rows);

  // Of a mixture of experts: which rows and experts belong together.
  struct ExpertLists {
    std::vector<std::uint32_t> order;  // experts, the best first
    std::vector<float> weights;        // of one row
    std::vector<std::size_t> rows;     // that use an expert
  };

  Activations activations;
  AttentionWorkspace attention;
  ExpertLists experts;
  RopeAngles rope;
  PhaseTimes* phases = nullptr;    // null: not measured
  std::uint32_t layer_stride = 1;  // above 1 only every so-manieth layer is computed, to measure what a layer takes

  void enter(StepPhase phase) {
    if (phases != nullptr) phases->enter(phase);
  }

 private:
  struct Extent {
    std::size_t rows;
    std::size_t cols;
  };
  static std::array<Extent, kBufferCount> extents(const WorkspaceShape& shape, const WorkspaceLimits& limits);

  WorkspaceLimits limits_;
  std::array<AlignedBuffer, kBufferCount> buffers_;
  std::array<std::size_t, kBufferCount> widths_{};
};

}  // namespace takt
