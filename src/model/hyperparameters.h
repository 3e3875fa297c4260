// The numbers that shape a decoder, from a file's metadata, each checked for type and range and against the others.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "model/gguf.h"

namespace takt {

enum class RopeScalingKind : std::uint8_t { kNone, kLinear, kYarn };

struct RopeScaling {
  RopeScalingKind kind = RopeScalingKind::kNone;
  float factor = 1.0F;                 // the context is stretched by this
  std::uint32_t original_context = 0;  // positions the model was trained on before stretching
  float attention_factor = 1.0F;       // YaRN: on top of YaRN's own magnitude
  float beta_fast = 32.0F;             // YaRN: rotations above which a dimension is left as it is
  float beta_slow = 1.0F;              // YaRN: rotations below which it is interpolated
};

struct Hyperparameters {
  std::string architecture;
  std::uint32_t context_length = 0;
  std::uint32_t embedding_length = 0;
  std::uint32_t layers = 0;
  std::uint32_t feed_forward_length = 0;
  std::uint32_t heads = 0;
  std::uint32_t kv_heads = 0;
  std::uint32_t head_size = 0;  // of keys and values; not always embedding_length / heads
  float rms_epsilon = 0.0F;
  std::uint32_t rope_dimensions = 0;  // the first ones of a head
  float rope_base = 10000.0F;
  RopeScaling rope_scaling;
  std::uint32_t experts = 0;       // 0: dense
  std::uint32_t experts_used = 0;  // per token
  std::uint32_t vocabulary = 0;
};

// general.architecture. Errors: the key is missing or no string.
Result<std::string> read_architecture_name(const GgufFile& file);

// Reads ARCHITECTURE.*. The vocabulary's size is that of
// the token list, which ARCHITECTURE.vocab_size must equal where it is given. Errors: kInvalidArgument, kUnsupported;
// field and message name the key.
Result<Hyperparameters> read_hyperparameters(const GgufFile& file);

}  // namespace takt
