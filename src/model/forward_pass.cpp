#include "model/forward_pass.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "kernels/math.h"

namespace takt {
namespace {

// Rows that can be quantised are: for float weights it costs next to nothing beside their products.
ActivationFormats formats_of(const MatrixView& rows) {
  return rows.cols % kActivationBlock == 0 ? ActivationFormats::kBlock32 : ActivationFormats::kNone;
}

const float* bias_of(const Linear& linear) {
  return linear.bias.empty() ? nullptr : linear.bias.data();
}

}  // namespace

ForwardPass::ForwardPass(const Compute& compute, const StepRows& rows, const KvBlocks& cache,
                         DecoderWorkspace& workspace)
    : compute_(compute), rows_(rows), cache_(cache), workspace_(workspace) {
  workspace_.enter(StepPhase::kOther);
  if (rows.tokens.size() > workspace.limits().rows || rows.positions.size() != rows.tokens.size()) {
    status_ = Error::internal("a step of " + std::to_string(rows.tokens.size()) + " rows in a workspace for " +
                              std::to_string(workspace.limits().rows));
  }
}

void ForwardPass::prepare_rope(const RopeFrequencies& frequencies) {
  if (status_.ok()) workspace_.rope.assign(rows_.positions, frequencies.frequency, frequencies.magnitude);
}

void ForwardPass::embed(const Linear& table) {
  if (status_.ok()) check(look_up_rows(table.weight, rows_.tokens, view(Buffer::kHidden)));
}

void ForwardPass::normalise(const std::vector<float>& weight, float epsilon) {
  if (!status_.ok()) return;
  workspace_.enter(StepPhase::kNormalise);
  const MatrixView out = view(Buffer::kNormalised);
  check(workspace_.activations.assign_normalised(compute_, view(Buffer::kHidden), weight.data(), epsilon, out,
                                                 formats_of(out)));
}

void ForwardPass::quantise(MatrixView input) {
  if (!status_.ok()) return;
  workspace_.enter(StepPhase::kNormalise);
  check(workspace_.activations.assign(compute_, input, formats_of(input)));
}

void ForwardPass::activate(MatrixView gate, MatrixView up) {
  if (!status_.ok()) return;
  workspace_.enter(StepPhase::kActivate);
  check(workspace_.activations.assign_gated(compute_, gate, up, formats_of(gate)));
}

void ForwardPass::project(StepPhase phase, std::initializer_list<Projection> projections) {
  if (!status_.ok()) return;
  workspace_.enter(phase);
  std::array<Product, kMostProducts> products{};
  std::size_t count = 0;
  for (const Projection& projection : projections) {
    products[count++] = {.weights = &projection.linear->weight,
                         .x = &workspace_.activations,
                         .out = projection.out,
                         .bias = bias_of(*projection.linear),
                         .adds = projection.adds};
  }
  check(matmul(compute_, std::span(products.data(), count)));
}

void ForwardPass::project_queries_keys_values(const Linear& q, const Linear& k, const Linear& v) {
  project(StepPhase::kQueriesKeysValues,
          {{&q, view(Buffer::kQueries)}, {&k, view(Buffer::kKeys)}, {&v, view(Buffer::kValues)}});
}

void ForwardPass::rotate(RopeOrder order, std::size_t head_size) {
  if (!status_.ok()) return;
  workspace_.enter(StepPhase::kRopeAndStore);
  apply_rope(compute_, workspace_.rope, order, head_size, view(Buffer::kQueries));
  apply_rope(compute_, workspace_.rope, order, head_size, view(Buffer::kKeys));
}

void ForwardPass::attend(const AttentionParams& params) {
  if (!status_.ok()) return;
  check(store_keys_values(compute_, cache_, params.layer, rows_.sequences, view(Buffer::kKeys), view(Buffer::kValues)));
  if (!status_.ok()) return;
  workspace_.enter(StepPhase::kAttention);
  check(takt::attend(compute_, cache_, params, rows_.sequences, view(Buffer::kQueries), view(Buffer::kAttended),
                     workspace_.attention));
}

void ForwardPass::add_projected_attention(const Linear& output) {
  quantise(view(Buffer::kAttended));
  project(StepPhase::kAttentionOutput, {{&output, view(Buffer::kHidden), true}});
}

void ForwardPass::add_gated_feed_forward(const Linear& gate, const Linear& up, const Linear& down) {
  project(StepPhase::kGateUp, {{&gate, view(Buffer::kGate)}, {&up, view(Buffer::kUp)}});
  activate(view(Buffer::kGate), view(Buffer::kUp));
  project(StepPhase::kDown, {{&down, view(Buffer::kHidden), true}});
}

// Turns each row's router logits into weights: 0 for experts that are not used.
void ForwardPass::choose_experts(const ExpertWeights& experts) {
  const MatrixView router = view(Buffer::kRouter);
  std::vector<std::uint32_t>& order = workspace_.experts.order;
  std::vector<float>& weights = workspace_.experts.weights;
  order.resize(router.cols);
  for (std::size_t row = 0; row < router.rows; ++row) {
    float* logits = router.row(row);
    std::iota(order.begin(), order.end(), 0U);
    // NaN counts as the least: with it as it is there would be no order.
    const auto rank = [&](std::uint32_t i) {
      return std::isnan(logits[i]) ? -std::numeric_limits<float>::infinity() : logits[i];
    };
    std::partial_sort(order.begin(), order.begin() + experts.used, order.end(),
                      [&](std::uint32_t a, std::uint32_t b) { return rank(a) != rank(b) ? rank(a) > rank(b) : a < b; });
    // Softmax over the chosen ones: the same as over all, made to sum to 1.
    const float largest = logits[order[0]];
    std::sort(order.begin(), order.begin() + experts.used);
    weights.assign(router.cols, 0.0F);
    float sum = 0.0F;
    for (std::uint32_t i = 0; i < experts.used; ++i) {
      weights[order[i]] = exp_f32(logits[order[i]] - largest);
      sum += weights[order[i]];
    }
    for (std::size_t i = 0; i < router.cols; ++i) logits[i] = weights[i] / sum;
  }
}

void ForwardPass::run_expert(const ExpertWeights& experts, std::size_t expert) {
  const MatrixView router = view(Buffer::kRouter);
  const MatrixView normalised = view(Buffer::kNormalised);
  std::vector<std::size_t>& chosen = workspace_.experts.rows;
  chosen.clear();
  for (std::size_t row = 0; row < router.rows; ++row) {
    if (router.row(row)[expert] != 0.0F) chosen.push_back(row);
  }
  if (chosen.empty()) return;
  const MatrixView input = workspace_.view(Buffer::kExpertInput, chosen.size());
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    std::memcpy(input.row(i), normalised.row(chosen[i]), input.cols * sizeof(float));
  }
  const MatrixView gate = workspace_.view(Buffer::kGate, chosen.size());
  const MatrixView up = workspace_.view(Buffer::kUp, chosen.size());
  const MatrixView output = workspace_.view(Buffer::kExpertOutput, chosen.size());
  quantise(input);
  project(StepPhase::kGateUp, {{&experts.gate[expert], gate}, {&experts.up[expert], up}});
  activate(gate, up);
  project(StepPhase::kDown, {{&experts.down[expert], output}});
  if (!status_.ok()) return;
  const MatrixView sum = view(Buffer::kExpertSum);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const float weight = router.row(chosen[i])[expert];
    float* target = sum.row(chosen[i]);
    for (std::size_t c = 0; c < sum.cols; ++c) target[c] = std::fma(weight, output.row(i)[c], target[c]);
  }
}

void ForwardPass::add_experts(const ExpertWeights& experts) {
  project(StepPhase::kGateUp, {{&experts.router, view(Buffer::kRouter)}});
  if (!status_.ok()) return;
  choose_experts(experts);
  const MatrixView sum = view(Buffer::kExpertSum);
  std::fill_n(sum.data, sum.rows * sum.cols, 0.0F);
  for (std::size_t expert = 0; expert < experts.gate.size() && status_.ok(); ++expert) run_expert(experts, expert);
  if (status_.ok()) add(compute_, view(Buffer::kHidden), sum);
}

Status output_logits(const Compute& compute, std::span<const std::uint32_t> rows, const std::vector<float>& norm,
                     float epsilon, const Linear& output, DecoderWorkspace& workspace, const LogitsOut& out) {
  if (rows.size() > workspace.limits().logit_rows) {
    return Error::internal("logits of " + std::to_string(rows.size()) + " rows in a workspace for " +
                           std::to_string(workspace.limits().logit_rows));
  }
  const MatrixView hidden = workspace.view(Buffer::kHidden, workspace.limits().rows);
  const MatrixView gathered = workspace.view(Buffer::kLogitRows, rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] >= hidden.rows) return Error::internal("logits of a row outside the step");
    std::memcpy(gathered.row(i), hidden.row(rows[i]), hidden.cols * sizeof(float));
  }
  workspace.enter(StepPhase::kNormalise);
  if (Status status = workspace.activations.assign_normalised(compute, gathered, norm.data(), epsilon, gathered,
                                                              formats_of(gathered));
      !status) {
    return status;
  }
  workspace.enter(StepPhase::kLogits);
  for (RowBest& best : out.best) best.clear();
  const Product product{.weights = &output.weight,
                        .x = &workspace.activations,
                        .out = out.logits,
                        .best = out.best,
                        .bias = bias_of(output)};
  return matmul(compute, std::span(&product, 1));
}

}  // namespace takt
