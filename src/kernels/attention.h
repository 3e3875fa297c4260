// Attention over a paged KV cache. The bits of a row's result depend on its query and on the keys and values of its
// sequence's positions alone: not on the blocks they lie in, on how the rows were cut into steps, on other sequences or
// on threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "kernels/aligned_buffer.h"
#include "kernels/compute.h"
#include "kernels/kv_layout.h"
#include "kernels/matrix_view.h"

namespace takt {

// All blocks of a pool; block b starts at data + b * layout.block_bytes().
struct KvBlocks {
  std::byte* data = nullptr;
  std::uint32_t block_count = 0;
  KvLayout layout;
};

// Consecutive positions of one sequence that are computed in this step.
struct AttentionRows {
  std::span<const std::uint32_t> blocks;  // block i holds the positions [i * block_tokens, (i + 1) * block_tokens)
  std::uint32_t first_position = 0;
  std::uint32_t count = 0;
  std::size_t first_row = 0;  // of the step's matrices
};

struct AttentionParams {
  std::uint32_t layer = 0;
  std::uint32_t heads = 0;   // query heads, a multiple of the KV heads
  float scale = 1.0F;        // of the scores
  float softcap = 0.0F;      // scores become softcap * tanh(score / softcap); 0: not
  std::uint32_t window = 0;  // a position sees itself and the window - 1 before it; 0: all before it
};

// Writes the keys and values of the rows into the cache. keys: one row per step row, kv_heads * key_dim wide; values
// alike. kInternal: a shape or a block table that does not fit; nothing is then written.
Status store_keys_values(const Compute& compute, const KvBlocks& cache, std::uint32_t layer,
                         std::span<const AttentionRows> sequences, ConstMatrixView keys, ConstMatrixView values);

// Scratch memory of attend(), kept from call to call; grows to the largest step seen.
class AttentionWorkspace {
 public:
  struct Item {
    std::uint32_t sequence;
    std::uint32_t first, count;  // rows of the sequence
    std::uint32_t kv_head;
    std::uint32_t first_head, heads;  // query heads inside the group
    std::uint32_t segment;
    std::uint64_t cost;
  };
  // Rows of a sequence whose segments are merged by one thread.
  struct Merge {
    std::uint32_t sequence;
    std::uint32_t first, count;
  };

 private:
  friend class AttentionRun;
  std::vector<Item> items_;
  std::vector<Merge> merges_;
  std::vector<std::size_t> partial_offsets_;  // per sequence
  AlignedBuffer partials_;
  AlignedBuffer scratch_;
};

// out row = for each query head, softmax(scale * q k) v over the positions that it may see, its own included. Its keys
// and values must be stored. queries: heads * key_dim wide; out: heads * value_dim wide. kInternal: a shape or a block
// table that does not fit; kResourceExhausted: no scratch memory.
Status attend(const Compute& compute, const KvBlocks& cache, const AttentionParams& params,
              std::span<const AttentionRows> sequences, ConstMatrixView queries, MatrixView out,
              AttentionWorkspace& workspace);

}  // namespace takt
