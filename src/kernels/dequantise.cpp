#include "kernels/dequantise.h"

#include <cstdint>
#include <cstring>

#include "kernels/half.h"
#include "kernels/stripe_layout.h"

namespace takt {
namespace {

using Bytes = const std::uint8_t*;

std::uint16_t load16(Bytes p) {
  return static_cast<std::uint16_t>(p[0] | (p[1] << 8));
}
std::uint32_t load32(Bytes p) {
  return static_cast<std::uint32_t>(load16(p)) | (static_cast<std::uint32_t>(load16(p + 2)) << 16U);
}
float load_half(Bytes p) {
  return half_to_float(load16(p));
}
float as_float(int value) {
  return static_cast<float>(value);
}

void block_f32(Bytes p, float* y) {
  std::memcpy(y, p, sizeof(float));
}
void block_f16(Bytes p, float* y) {
  *y = load_half(p);
}
void block_bf16(Bytes p, float* y) {
  *y = bfloat16_to_float(load16(p));
}

void block_q4_0(Bytes p, float* y) {
  const float d = load_half(p);
  for (int i = 0; i < 16; ++i) {
    y[i] = as_float((p[2 + i] & 0x0F) - 8) * d;
    y[i + 16] = as_float((p[2 + i] >> 4) - 8) * d;
  }
}

void block_q4_1(Bytes p, float* y) {
  const float d = load_half(p);
  const float m = load_half(p + 2);
  for (int i = 0; i < 16; ++i) {
    y[i] = as_float(p[4 + i] & 0x0F) * d + m;
    y[i + 16] = as_float(p[4 + i] >> 4) * d + m;
  }
}

void block_q5_0(Bytes p, float* y) {
  const float d = load_half(p);
  const std::uint32_t high = load32(p + 2);
  for (int i = 0; i < 16; ++i) {
    const int low_half = (p[6 + i] & 0x0F) | static_cast<int>(((high >> i) & 1U) << 4U);
    const int high_half = (p[6 + i] >> 4) | static_cast<int>(((high >> (i + 16)) & 1U) << 4U);
    y[i] = as_float(low_half - 16) * d;
    y[i + 16] = as_float(high_half - 16) * d;
  }
}

void block_q5_1(Bytes p, float* y) {
  const float d = load_half(p);
  const float m = load_half(p + 2);
  const std::uint32_t high = load32(p + 4);
  for (int i = 0; i < 16; ++i) {
    const int low_half = (p[8 + i] & 0x0F) | static_cast<int>(((high >> i) & 1U) << 4U);
    const int high_half = (p[8 + i] >> 4) | static_cast<int>(((high >> (i + 16)) & 1U) << 4U);
    y[i] = as_float(low_half) * d + m;
    y[i + 16] = as_float(high_half) * d + m;
  }
}

void block_q8_0(Bytes p, float* y) {
  const float d = load_half(p);
  for (int i = 0; i < 32; ++i) y[i] = as_float(static_cast<std::int8_t>(p[2 + i])) * d;
}

// scales[16] (4-bit scale, 4-bit min), quants[64] of 2 bits, d, dmin.
void block_q2_k(Bytes p, float* y) {
  const Bytes quants = p + 16;
  const float d = load_half(p + 80);
  const float dmin = load_half(p + 82);
  for (int group = 0; group < 16; ++group) {
    const float scale = d * as_float(p[group] & 0x0F);
    const float min = dmin * as_float(p[group] >> 4);
    // Groups of 16: eight of them share 32 bytes, two groups per 2-bit plane.
    const Bytes q = quants + (group / 8) * 32 + (group % 2) * 16;
    const int shift = ((group % 8) / 2) * 2;
    for (int i = 0; i < 16; ++i) y[group * 16 + i] = scale * as_float((q[i] >> shift) & 3) - min;
  }
}

// hmask[32], quants[64] of 2 bits, scales[12] of 6 bits, d.
void block_q3_k(Bytes p, float* y) {
  const Bytes quants = p + 32;
  const Bytes scales = p + 96;
  const float d = load_half(p + 108);
  for (int group = 0; group < 16; ++group) {
    const int low = group < 8 ? scales[group] & 0x0F : scales[group - 8] >> 4;
    const int high = (scales[8 + group % 4] >> (2 * (group / 4))) & 3;
    const float scale = d * as_float((low | (high << 4)) - 32);
    const Bytes q = quants + (group / 8) * 32 + (group % 2) * 16;
    const Bytes mask = p + (group % 2) * 16;
    const int plane = (group % 8) / 2;
    const int mask_bit = 1 << (group / 2);
    for (int i = 0; i < 16; ++i) {
      const int value = ((q[i] >> (plane * 2)) & 3) - ((mask[i] & mask_bit) != 0 ? 0 : 4);
      y[group * 16 + i] = scale * as_float(value);
    }
  }
}

struct ScaleMin {
  int scale;
  int min;
};

// The 6-bit scales and mins of Q4_K and Q5_K: eight of each in 12 bytes.
ScaleMin scale_min_k4(int j, Bytes q) {
  if (j < 4) return {q[j] & 63, q[j + 4] & 63};
  return {(q[j + 4] & 0x0F) | ((q[j - 4] >> 6) << 4), (q[j + 4] >> 4) | ((q[j] >> 6) << 4)};
}

// d, dmin, scales[12], quants[128].
void block_q4_k(Bytes p, float* y) {
  const float d = load_half(p);
  const float dmin = load_half(p + 2);
  for (int group = 0; group < 8; ++group) {
    const ScaleMin sm = scale_min_k4(group, p + 4);
    const float scale = d * as_float(sm.scale);
    const float min = dmin * as_float(sm.min);
    const Bytes q = p + 16 + (group / 2) * 32;
    const int shift = (group % 2) * 4;
    for (int i = 0; i < 32; ++i) y[group * 32 + i] = scale * as_float((q[i] >> shift) & 0x0F) - min;
  }
}

// d, dmin, scales[12], high bits[32], quants[128].
void block_q5_k(Bytes p, float* y) {
  const float d = load_half(p);
  const float dmin = load_half(p + 2);
  const Bytes high = p + 16;
  for (int group = 0; group < 8; ++group) {
    const ScaleMin sm = scale_min_k4(group, p + 4);
    const float scale = d * as_float(sm.scale);
    const float min = dmin * as_float(sm.min);
    const Bytes q = p + 48 + (group / 2) * 32;
    const int shift = (group % 2) * 4;
    for (int i = 0; i < 32; ++i) {
      const int value = ((q[i] >> shift) & 0x0F) + (((high[i] >> group) & 1) << 4);
      y[group * 32 + i] = scale * as_float(value) - min;
    }
  }
}

// low[128], high[64], scales[16] (int8), d.
void block_q6_k(Bytes p, float* y) {
  const Bytes high = p + 128;
  const Bytes scales = p + 192;
  const float d = load_half(p + 208);
  for (int i = 0; i < 256; ++i) {
    const int half = i / 128;
    const int in_half = i % 128;
    const int column = in_half % 64;
    const int low_nibble = (p[half * 64 + column] >> (in_half / 64 * 4)) & 0x0F;
    const int high_bits = (high[half * 32 + in_half % 32] >> (in_half / 32 * 2)) & 3;
    const float scale = d * as_float(static_cast<std::int8_t>(scales[i / 16]));
    y[i] = scale * as_float((low_nibble | (high_bits << 4)) - 32);
  }
}

void block_iq4_nl(Bytes p, float* y) {
  const float d = load_half(p);
  for (int i = 0; i < 16; ++i) {
    y[i] = d * as_float(kNonLinearLevels[p[2 + i] & 0x0F]);
    y[i + 16] = d * as_float(kNonLinearLevels[p[2 + i] >> 4]);
  }
}

// d, high scale bits (16), low scale bits[4], quants[128].
void block_iq4_xs(Bytes p, float* y) {
  const float d = load_half(p);
  const std::uint32_t scales_high = load16(p + 2);
  for (int group = 0; group < 8; ++group) {
    const int low = (p[4 + group / 2] >> (4 * (group % 2))) & 0x0F;
    const int high = static_cast<int>((scales_high >> (2 * group)) & 3U);
    const float scale = d * as_float((low | (high << 4)) - 32);
    const Bytes q = p + 8 + group * 16;
    for (int i = 0; i < 16; ++i) {
      y[group * 32 + i] = scale * as_float(kNonLinearLevels[q[i] & 0x0F]);
      y[group * 32 + i + 16] = scale * as_float(kNonLinearLevels[q[i] >> 4]);
    }
  }
}

using BlockDecoder = void (*)(Bytes, float*);

BlockDecoder block_decoder(TensorType type) {
  switch (type) {
    case TensorType::kF32:
      return block_f32;
    case TensorType::kF16:
      return block_f16;
    case TensorType::kBF16:
      return block_bf16;
    case TensorType::kQ4_0:
      return block_q4_0;
    case TensorType::kQ4_1:
      return block_q4_1;
    case TensorType::kQ5_0:
      return block_q5_0;
    case TensorType::kQ5_1:
      return block_q5_1;
    case TensorType::kQ8_0:
      return block_q8_0;
    case TensorType::kQ2_K:
      return block_q2_k;
    case TensorType::kQ3_K:
      return block_q3_k;
    case TensorType::kQ4_K:
      return block_q4_k;
    case TensorType::kQ5_K:
      return block_q5_k;
    case TensorType::kQ6_K:
      return block_q6_k;
    case TensorType::kIQ4_NL:
      return block_iq4_nl;
    case TensorType::kIQ4_XS:
      return block_iq4_xs;
    default:
      return nullptr;
  }
}

}  // namespace

bool dequantise_row(TensorType type, const std::byte* data, float* out, std::size_t n) {
  const BlockDecoder decode = block_decoder(type);
  if (decode == nullptr) return false;
  const TensorTypeInfo& info = tensor_type_info(type);
  const auto* bytes = reinterpret_cast<Bytes>(data);
  for (std::size_t block = 0; block < n / info.block_elements; ++block) {
    decode(bytes + block * info.block_bytes, out + block * info.block_elements);
  }
  return true;
}

}  // namespace takt
