// A model that reads tokens and predicts the next ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/result.h"
#include "core/ids.h"
#include "kernels/attention.h"
#include "kernels/compute.h"
#include "kernels/row_best.h"
#include "model/decoder_workspace.h"
#include "model/hyperparameters.h"

namespace takt {

// All rows of a step, sequence after sequence. One pass over the weights serves them all.
struct StepRows {
  std::span<const TokenId> tokens;
  std::span<const std::uint32_t> positions;  // per row
  std::span<const AttentionRows> sequences;  // which rows belong together, and where their KV lies
};

struct LogitsOut {
  MatrixView logits;
  std::span<RowBest> best = {};
};

// Immutable after loading; calls with workspaces of their own may run at the same time.
class Decoder {
 public:
  virtual ~Decoder() = default;

  virtual const Hyperparameters& hyperparameters() const = 0;

  // What the workspace and a KV cache for this model must look like.
  virtual WorkspaceShape workspace_shape() const = 0;
  virtual KvLayout kv_layout(KvType type, std::uint32_t block_tokens) const = 0;

  // Computes the rows' last hidden states into the workspace and their keys and values into the cache. The workspace
  // must have room for them. Errors: kInternal (tokens, tables or shapes that do not fit), kResourceExhausted.
  virtual Status forward(const Compute& compute, const StepRows& rows, const KvBlocks& cache,
                         DecoderWorkspace& workspace) const = 0;

  // Logits of some rows of the last forward, at most WorkspaceLimits::logit_rows: the first ones go to `out.logits`
  // (vocabulary wide), of each of the others only the largest is kept, in its element of `out.best` (cleared here).
  virtual Status logits(const Compute& compute, std::span<const std::uint32_t> rows, DecoderWorkspace& workspace,
                        const LogitsOut& out) const = 0;
};

}  // namespace takt
