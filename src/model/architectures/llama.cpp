#include "model/architectures/llama.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "model/forward_pass.h"
#include "model/rope_frequencies.h"

namespace takt {
namespace {

struct LlamaLayer {
  std::vector<float> attention_norm;
  Linear q, k, v, attention_output;
  std::vector<float> feed_forward_norm;
  Linear gate, up, down;  // dense
  ExpertWeights experts;  // or a mixture
};

struct LlamaWeights {
  Linear embedding;
  std::vector<LlamaLayer> layers;
  std::vector<float> output_norm;
  std::optional<Linear> output;  // empty: tied to the embedding
  RopeFrequencies rope;

  const Linear& output_layer() const { return output ? *output : embedding; }
};

LlamaLayer read_layer(const Hyperparameters& h, WeightSource& source, std::uint32_t index) {
  const std::string block = "blk." + std::to_string(index) + ".";
  const std::size_t queries = std::size_t{h.heads} * h.head_size;
  const std::size_t keys = std::size_t{h.kv_heads} * h.head_size;
  LlamaLayer layer;
  layer.attention_norm = source.vector(block + "attn_norm.weight", h.embedding_length);
  layer.q = source.linear(block + "attn_q", queries, h.embedding_length);
  layer.k = source.linear(block + "attn_k", keys, h.embedding_length);
  layer.v = source.linear(block + "attn_v", keys, h.embedding_length);
  layer.attention_output = source.linear(block + "attn_output", h.embedding_length, queries);
  layer.feed_forward_norm = source.vector(block + "ffn_norm.weight", h.embedding_length);
  if (h.experts == 0) {
    layer.gate = source.linear(block + "ffn_gate", h.feed_forward_length, h.embedding_length);
    layer.up = source.linear(block + "ffn_up", h.feed_forward_length, h.embedding_length);
    layer.down = source.linear(block + "ffn_down", h.embedding_length, h.feed_forward_length);
  } else {
    layer.experts.used = h.experts_used;
    layer.experts.router = source.linear(block + "ffn_gate_inp", h.experts, h.embedding_length);
    layer.experts.gate = source.linears(block + "ffn_gate_exps", h.experts, h.feed_forward_length, h.embedding_length);
    layer.experts.up = source.linears(block + "ffn_up_exps", h.experts, h.feed_forward_length, h.embedding_length);
    layer.experts.down = source.linears(block + "ffn_down_exps", h.experts, h.embedding_length, h.feed_forward_length);
  }
  return layer;
}

// The file may divide each pair's frequency; as a divisor, 0 would make every answer NaN.
RopeFrequencies read_rope(const Hyperparameters& h, WeightSource& source) {
  constexpr const char* kFactors = "rope_freqs.weight";
  const std::vector<float> factors = source.vector_at_once(kFactors, h.rope_dimensions / 2);
  if (!std::all_of(factors.begin(), factors.end(), [](float factor) { return factor >= 1e-6F && factor <= 1e6F; }))
    source.refuse(kFactors, "its values must be from 1e-6 to 1e6");
  return make_rope_frequencies(h, factors);
}

LlamaWeights read_weights(const Hyperparameters& h, WeightSource& source) {
  LlamaWeights weights;
  weights.embedding = source.linear("token_embd", h.vocabulary, h.embedding_length);
  for (std::uint32_t i = 0; i < h.layers && source.status().ok(); ++i) {
    weights.layers.push_back(read_layer(h, source, i));
  }
  weights.output_norm = source.vector("output_norm.weight", h.embedding_length);
  if (source.has("output.weight")) weights.output = source.linear("output", h.vocabulary, h.embedding_length);
  weights.rope = read_rope(h, source);
  return weights;
}

class LlamaDecoder final : public Decoder {
 public:
  LlamaDecoder(const Hyperparameters& hyperparameters, LlamaWeights weights)
      : h_(hyperparameters), weights_(std::move(weights)) {}

  const Hyperparameters& hyperparameters() const override { return h_; }

  WorkspaceShape workspace_shape() const override {
    return {.embedding = h_.embedding_length,
            .queries = std::size_t{h_.heads} * h_.head_size,
            .keys = std::size_t{h_.kv_heads} * h_.head_size,
            .feed_forward = h_.feed_forward_length,
            .experts = h_.experts,
            .vocabulary = h_.vocabulary};
  }

  KvLayout kv_layout(KvType type, std::uint32_t block_tokens) const override {
    return {.type = type,
            .layers = h_.layers,
            .kv_heads = h_.kv_heads,
            .key_dim = h_.head_size,
            .value_dim = h_.head_size,
            .block_tokens = block_tokens};
  }

  Status forward(const Compute& compute, const StepRows& rows, const KvBlocks& cache,
                 DecoderWorkspace& workspace) const override {
    ForwardPass pass(compute, rows, cache, workspace);
    pass.prepare_rope(weights_.rope);
    pass.embed(weights_.embedding);
    for (std::uint32_t i = 0; i < h_.layers && pass.status().ok(); i += workspace.layer_stride) {
      const LlamaLayer& layer = weights_.layers[i];
      pass.normalise(layer.attention_norm, h_.rms_epsilon);
      pass.project_queries_keys_values(layer.q, layer.k, layer.v);
      pass.rotate(RopeOrder::kAdjacent, h_.head_size);
      pass.attend({.layer = i, .heads = h_.heads, .scale = attention_scale()});
      pass.add_projected_attention(layer.attention_output);
      pass.normalise(layer.feed_forward_norm, h_.rms_epsilon);
      if (h_.experts == 0) {
        pass.add_gated_feed_forward(layer.gate, layer.up, layer.down);
      } else {
        pass.add_experts(layer.experts);
      }
    }
    return pass.status();
  }

  Status logits(const Compute& compute, std::span<const std::uint32_t> rows, DecoderWorkspace& workspace,
                const LogitsOut& out) const override {
    return output_logits(compute, rows, weights_.output_norm, h_.rms_epsilon, weights_.output_layer(), workspace, out);
  }

 private:
  float attention_scale() const { return 1.0F / std::sqrt(static_cast<float>(h_.head_size)); }

  Hyperparameters h_;
  LlamaWeights weights_;
};

}  // namespace

std::unique_ptr<Decoder> build_llama(const Hyperparameters& hyperparameters, WeightSource& source) {
  return std::make_unique<LlamaDecoder>(hyperparameters, read_weights(hyperparameters, source));
}

}  // namespace takt
