#include "model/hyperparameters.h"

#include "model/metadata.h"

namespace takt {
namespace {

constexpr std::int64_t kMaxContext = 1 << 24;
constexpr std::int64_t kMaxWidth = 1 << 20;
constexpr std::int64_t kMaxLayers = 1024;
constexpr std::int64_t kMaxHeads = 4096;
constexpr std::int64_t kMaxHeadSize = 1024;
constexpr std::int64_t kMaxExperts = 1024;
constexpr std::size_t kMaxName = 128;

// The keys of one architecture.
class Keys {
 public:
  explicit Keys(const std::string& architecture) : prefix_(architecture + ".") {}
  std::string operator()(const char* name) const { return prefix_ + name; }

 private:
  std::string prefix_;
};

std::uint32_t narrow(std::int64_t value) {
  return static_cast<std::uint32_t>(value);
}

void read_heads(MetadataReader& in, const Keys& key, Hyperparameters& out) {
  out.heads = narrow(in.required_integer(key("attention.head_count"), {1, kMaxHeads}));
  out.kv_heads = narrow(in.integer(key("attention.head_count_kv"), {1, kMaxHeads}).value_or(out.heads));
  if (!in.status().ok()) return;
  if (out.heads % out.kv_heads != 0) {
    in.fail(key("attention.head_count_kv"),
            "is " + std::to_string(out.kv_heads) + ", which does not divide head_count " + std::to_string(out.heads));
    return;
  }
  const auto key_length = in.integer(key("attention.key_length"), {1, kMaxHeadSize});
  const auto value_length = in.integer(key("attention.value_length"), {1, kMaxHeadSize});
  if (!key_length && out.embedding_length % out.heads != 0) {
    in.fail(key("attention.head_count"), "is " + std::to_string(out.heads) +
                                             ", which does not divide embedding_length " +
                                             std::to_string(out.embedding_length) + ", and there is no key_length");
    return;
  }
  out.head_size = key_length ? narrow(*key_length) : out.embedding_length / out.heads;
  if (value_length && *value_length != out.head_size) {
    in.fail({ErrorCode::kUnsupported,
             key("attention.value_length") + " is " + std::to_string(*value_length) + " beside a key length of " +
                 std::to_string(out.head_size) + "; only equal lengths are supported",
             key("attention.value_length")});
  }
  if (out.head_size > kMaxHeadSize) {
    in.fail(key("embedding_length"), "gives heads of " + std::to_string(out.head_size) + " values; the limit is " +
                                         std::to_string(kMaxHeadSize));
  }
}

void read_rope_scaling(MetadataReader& in, const Keys& key, Hyperparameters& out) {
  RopeScaling& scaling = out.rope_scaling;
  const std::string type = in.string(key("rope.scaling.type"), kMaxName).value_or("");
  // Old files have only rope.scale_linear, a factor.
  const auto old_factor = in.number(key("rope.scale_linear"), {1e-6, 1e6});
  const auto factor = in.number(key("rope.scaling.factor"), {1e-6, 1e6});
  scaling.factor = factor.value_or(old_factor.value_or(1.0F));
  scaling.original_context =
      narrow(in.integer(key("rope.scaling.original_context_length"), {1, kMaxContext}).value_or(out.context_length));
  scaling.attention_factor = in.number(key("rope.scaling.attn_factor"), {1e-6, 1e6}).value_or(1.0F);
  scaling.beta_fast = in.number(key("rope.scaling.yarn_beta_fast"), {1e-3, 1e6}).value_or(32.0F);
  scaling.beta_slow = in.number(key("rope.scaling.yarn_beta_slow"), {1e-3, 1e6}).value_or(1.0F);
  if (type == "linear" || (type.empty() && scaling.factor != 1.0F)) {
    scaling.kind = RopeScalingKind::kLinear;
  } else if (type == "yarn") {
    scaling.kind = RopeScalingKind::kYarn;
  } else if (!type.empty() && type != "none") {
    in.fail({ErrorCode::kUnsupported,
             key("rope.scaling.type") + " \"" + printable(type) + "\" is not supported; none, linear and yarn are",
             key("rope.scaling.type")});
  }
}

void read_rope(MetadataReader& in, const Keys& key, Hyperparameters& out) {
  const auto dimensions = in.integer(key("rope.dimension_count"), {2, kMaxHeadSize});
  out.rope_dimensions = dimensions ? narrow(*dimensions) : out.head_size;
  if (in.status().ok() && (out.rope_dimensions > out.head_size || out.rope_dimensions % 2 != 0)) {
    in.fail(key("rope.dimension_count"), "is " + std::to_string(out.rope_dimensions) +
                                             "; it must be even and at most the head size " +
                                             std::to_string(out.head_size));
  }
  out.rope_base = in.number(key("rope.freq_base"), {1.0, 1e12}).value_or(10000.0F);
  read_rope_scaling(in, key, out);
}

void read_experts(MetadataReader& in, const Keys& key, Hyperparameters& out) {
  out.experts = narrow(in.integer(key("expert_count"), {0, kMaxExperts}).value_or(0));
  out.experts_used = narrow(in.integer(key("expert_used_count"), {0, kMaxExperts}).value_or(0));
  if (!in.status().ok()) return;
  if (out.experts_used > out.experts || (out.experts > 0 && out.experts_used == 0)) {
    in.fail(key("expert_used_count"), "is " + std::to_string(out.experts_used) +
                                          "; it must be from 1 to expert_count, " + std::to_string(out.experts));
  }
}

void read_vocabulary_size(MetadataReader& in, const Keys& key, Hyperparameters& out) {
  const auto* tokens = in.strings("tokenizer.ggml.tokens");
  if (in.status().ok() && (tokens == nullptr || tokens->empty()))
    in.fail("tokenizer.ggml.tokens", "required key is missing");
  if (!in.status().ok()) return;
  out.vocabulary = narrow(static_cast<std::int64_t>(tokens->size()));
  const auto stated = in.integer(key("vocab_size"), {1, 1 << 24});
  if (stated && *stated != out.vocabulary) {
    in.fail(key("vocab_size"),
            "is " + std::to_string(*stated) + ", the token list has " + std::to_string(out.vocabulary) + " tokens");
  }
}

}  // namespace

Result<std::string> read_architecture_name(const GgufFile& file) {
  MetadataReader in(file);
  std::string name = in.required_string("general.architecture", kMaxName);
  if (!in.status().ok()) return in.status().error();
  return name;
}

Result<Hyperparameters> read_hyperparameters(const GgufFile& file) {
  auto architecture = read_architecture_name(file);
  if (!architecture) return architecture.error();
  MetadataReader in(file);
  Hyperparameters out;
  out.architecture = *architecture;
  const Keys key(out.architecture);
  out.context_length = narrow(in.required_integer(key("context_length"), {1, kMaxContext}));
  out.embedding_length = narrow(in.required_integer(key("embedding_length"), {1, kMaxWidth}));
  out.layers = narrow(in.required_integer(key("block_count"), {1, kMaxLayers}));
  out.feed_forward_length = narrow(in.required_integer(key("feed_forward_length"), {1, kMaxWidth}));
  const std::string epsilon = key("attention.layer_norm_rms_epsilon");
  if (in.status().ok() && file.find(epsilon) == nullptr) in.fail(epsilon, "required key is missing");
  out.rms_epsilon = in.number(epsilon, {1e-12, 1.0}).value_or(1e-5F);
  read_heads(in, key, out);
  read_rope(in, key, out);
  read_experts(in, key, out);
  read_vocabulary_size(in, key, out);
  if (!in.status().ok()) return in.status().error();
  return out;
}

}  // namespace takt
