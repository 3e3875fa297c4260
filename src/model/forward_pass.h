// The blocks that decoder architectures are written with, over the rows of one step. Each reads and writes the
// workspace's buffers; the first failure is kept and later blocks do nothing.
#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "base/result.h"
#include "kernels/matmul.h"
#include "model/decoder.h"
#include "model/rope_frequencies.h"
#include "model/weight_source.h"

namespace takt {

// The weights of a mixture of experts.
struct ExpertWeights {
  Linear router;  // a logit per expert
  std::vector<Linear> gate, up, down;
  std::uint32_t used = 0;  // experts per row
};

class ForwardPass {
 public:
  ForwardPass(const Compute& compute, const StepRows& rows, const KvBlocks& cache, DecoderWorkspace& workspace);

  // Angles of the step's positions, for all its layers.
  void prepare_rope(const RopeFrequencies& frequencies);

  void embed(const Linear& table);                                  // tokens -> hidden
  void normalise(const std::vector<float>& weight, float epsilon);  // hidden -> normalised (RMS), and quantised
  void project_queries_keys_values(const Linear& q, const Linear& k, const Linear& v);  // from normalised
  void rotate(RopeOrder order, std::size_t head_size);                                  // queries and keys
  void attend(const AttentionParams& params);          // stores keys and values; -> attended
  void add_projected_attention(const Linear& output);  // hidden += output(attended)
  // hidden += down(silu(gate(x)) * up(x)) with x = normalised
  void add_gated_feed_forward(const Linear& gate, const Linear& up, const Linear& down);
  // The same for each row's best experts by softmax(router(x)), weighted by their probabilities made to sum to 1 (Jiang
  // et al., "Mixtral of Experts", section 2.1). A row's experts are added in ascending order, so its bits do not depend
  // on other rows.
  void add_experts(const ExpertWeights& experts);

  const Status& status() const { return status_; }

 private:
  struct Projection {
    const Linear* linear;
    MatrixView out;
    bool adds = false;  // to what out holds
  };
  // Of what the workspace's activations hold.
  void project(StepPhase phase, std::initializer_list<Projection> projections);
  void quantise(MatrixView input);
  void activate(MatrixView gate, MatrixView up);
  void choose_experts(const ExpertWeights& experts);
  void run_expert(const ExpertWeights& experts, std::size_t expert);
  MatrixView view(Buffer buffer) { return workspace_.view(buffer, rows_.tokens.size()); }
  void check(Status status) {
    if (status_.ok() && !status.ok()) status_ = std::move(status);
  }

  const Compute& compute_;
  const StepRows& rows_;
  const KvBlocks& cache_;
  DecoderWorkspace& workspace_;
  Status status_;
};

// Logits of some rows of the last forward pass: output(norm(hidden)).
Status output_logits(const Compute& compute, std::span<const std::uint32_t> rows, const std::vector<float>& norm,
                     float epsilon, const Linear& output, DecoderWorkspace& workspace, const LogitsOut& out);

}  // namespace takt
