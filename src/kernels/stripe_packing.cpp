#include "kernels/stripe_packing.h"

#include <array>
#include <cstdint>
#include <cstring>

#include "kernels/stripe_layout.h"

namespace takt {
namespace {

// Four values of a row lie in a dword, in the file as in a lane of a line: what is done to one byte is done to all
// four.
constexpr std::size_t kDword = 4;
constexpr std::uint32_t kLowBits = 0x01010101;
constexpr std::uint32_t kLowPairs = 0x03030303;
constexpr std::uint32_t kLowNibbles = 0x0F0F0F0F;
constexpr std::uint32_t kLowSixes = 0x3F3F3F3F;

std::uint32_t dword_at(const void* p) {
  std::uint32_t dword;
  std::memcpy(&dword, p, kDword);
  return dword;
}
void put_dword(void* p, std::uint32_t dword) {
  std::memcpy(p, &dword, kDword);
}

template <typename Byte>
std::uint32_t lane_dword(const Byte* lines, std::size_t line, std::size_t lane) {
  return dword_at(lines + line * kLineBytes + lane * kDword);
}
template <typename Byte>
void put_lane_dword(Byte* lines, std::size_t line, std::size_t lane, std::uint32_t dword) {
  put_dword(lines + line * kLineBytes + lane * kDword, dword);
}

// Bit b of four to the lowest bit of byte b, and back.
std::uint32_t spread_four_bits(std::uint32_t bits) {
  return (bits * 0x00204081U) & kLowBits;
}
std::uint32_t gather_four_bits(std::uint32_t low_bits) {
  return (low_bits * 0x10204080U) >> 28U;
}

// The fields that a file's blocks are made of: kBytes of the file each, and both ways between them and a lane.

struct ScaleField {
  static constexpr std::size_t kBytes = 2;
  template <typename Block>
  static void pack(const std::byte* in, std::size_t lane, Block& block) {
    std::memcpy(&block.scales[lane], in, kBytes);
  }
  template <typename Block>
  static void unpack(const Block& block, std::size_t lane, std::byte* out) {
    std::memcpy(out, &block.scales[lane], kBytes);
  }
};

struct MinField {
  static constexpr std::size_t kBytes = 2;
  template <typename Block>
  static void pack(const std::byte* in, std::size_t lane, Block& block) {
    std::memcpy(&block.mins[lane], in, kBytes);
  }
  template <typename Block>
  static void unpack(const Block& block, std::size_t lane, std::byte* out) {
    std::memcpy(out, &block.mins[lane], kBytes);
  }
};

// 32 values that lines hold as the file does: nibbles (low ones k = 0..15, high ones k = 16..31) in four, bytes in
// eight.
template <std::size_t kLines>
struct LineField {
  static constexpr std::size_t kBytes = kLines * kDword;
  template <typename Block>
  static void pack(const std::byte* in, std::size_t lane, Block& block) {
    for (std::size_t j = 0; j < kLines; ++j) put_lane_dword(block.lines, j, lane, dword_at(in + j * kDword));
  }
  template <typename Block>
  static void unpack(const Block& block, std::size_t lane, std::byte* out) {
    for (std::size_t j = 0; j < kLines; ++j) put_dword(out + j * kDword, lane_dword(block.lines, j, lane));
  }
};

// The same for eight blocks of nibbles, one after the other.
struct NibbleBlocksField {
  static constexpr std::size_t kBytes = 8 * kNibbleLines * kDword;
  template <typename Block>
  static void pack(const std::byte* in, std::size_t lane, Block& block) {
    for (std::size_t i = 0; i < 8 * kNibbleLines; ++i)
      put_lane_dword(block.lines[i / kNibbleLines], i % kNibbleLines, lane, dword_at(in + i * kDword));
  }
  template <typename Block>
  static void unpack(const Block& block, std::size_t lane, std::byte* out) {
    for (std::size_t i = 0; i < 8 * kNibbleLines; ++i)
      put_dword(out + i * kDword, lane_dword(block.lines[i / kNibbleLines], i % kNibbleLines, lane));
  }
};

// The fifth bits of 32 values: bit k of a dword.
struct FifthBitsField {
  static constexpr std::size_t kBytes = kDword;
  template <typename Block>
  static void pack(const std::byte* in, std::size_t lane, Block& block) {
    const std::uint32_t bits = dword_at(in);
    std::uint32_t packed = 0;
    for (unsigned i = 0; i < 8; ++i) packed |= spread_four_bits((bits >> (4 * i)) & 15U) << i;
    put_lane_dword(block.fifth_bits, 0, lane, packed);
  }
  template <typename Block>
  static void unpack(const Block& block, std::size_t lane, std::byte* out) {
    const std::uint32_t packed = lane_dword(block.fifth_bits, 0, lane);
    std::uint32_t bits = 0;
    for (unsigned i = 0; i < 8; ++i) bits |= gather_four_bits((packed >> i) & kLowBits) << (4 * i);
    put_dword(out, bits);
  }
};

// The fifth bits of eight blocks of 32: bit j of byte k is that of value k of block j.
struct FifthBitPlanesField {
  static constexpr std::size_t kBytes = 32;
  template <typename Block>
  static void pack(const std::byte* in, std::size_t lane, Block& block) {
    for (unsigned j = 0; j < 8; ++j) {
      std::uint32_t packed = 0;
      for (unsigned i = 0; i < 8; ++i) packed |= ((dword_at(in + i * kDword) >> j) & kLowBits) << i;
      put_lane_dword(block.fifth_bits[j], 0, lane, packed);
    }
  }
  template <typename Block>
  static void unpack(const Block& block, std::size_t lane, std::byte* out) {
    for (unsigned i = 0; i < 8; ++i) {
      std::uint32_t bits = 0;
      for (unsigned j = 0; j < 8; ++j) bits |= ((lane_dword(block.fifth_bits[j], 0, lane) >> i) & kLowBits) << j;
      put_dword(out + i * kDword, bits);
    }
  }
};

// Eight 6-bit scales and eight 6-bit mins: the first four of each in the low bits of bytes 0..7, the others in nibbles
// of bytes 8..11 and the top bits of bytes 0..7.
struct SubScalesAndMinsField {
  static constexpr std::size_t kBytes = 12;
  template <typename Block>
  static void pack(const std::byte* in, std::size_t lane, Block& block) {
    const auto byte = [in](std::size_t i) { return std::to_integer<unsigned>(in[i]); };
    for (std::size_t j = 0; j < 4; ++j) {
      block.sub_scales[j][lane] = static_cast<std::uint8_t>(byte(j) & 63U);
      block.sub_mins[j][lane] = static_cast<std::uint8_t>(byte(j + 4) & 63U);
      block.sub_scales[j + 4][lane] = static_cast<std::uint8_t>((byte(j + 8) & 15U) | (byte(j) >> 6U << 4U));
      block.sub_mins[j + 4][lane] = static_cast<std::uint8_t>((byte(j + 8) >> 4U) | (byte(j + 4) >> 6U << 4U));
    }
  }
  template <typename Block>
  static void unpack(const Block& block, std::size_t lane, std::byte* out) {
    const auto scale = [&](std::size_t j) -> unsigned { return block.sub_scales[j][lane]; };
    const auto min = [&](std::size_t j) -> unsigned { return block.sub_mins[j][lane]; };
    for (std::size_t j = 0; j < 4; ++j) {
      out[j] = static_cast<std::byte>(scale(j) | (scale(j + 4) >> 4U << 6U));
      out[j + 4] = static_cast<std::byte>(min(j) | (min(j + 4) >> 4U << 6U));
      out[j + 8] = static_cast<std::byte>((scale(j + 4) & 15U) | ((min(j + 4) & 15U) << 4U));
    }
  }
};

// Eight blocks of nibbles in pairs of 32 bytes: the even block in the low nibbles, the odd one in the high ones.
struct NibblePairsField {
  static constexpr std::size_t kPairBytes = 32;
  static constexpr std::size_t kBytes = 4 * kPairBytes;
  template <typename Block>
  static void pack(const std::byte* in, std::size_t lane, Block& block) {
    for (std::size_t pair = 0; pair < 4; ++pair, in += kPairBytes) {
      for (std::size_t i = 0; i < kNibbleLines; ++i) {
        const std::uint32_t first = dword_at(in + i * kDword);
        const std::uint32_t last = dword_at(in + kPairBytes / 2 + i * kDword);
        put_lane_dword(block.lines[2 * pair], i, lane, (first & kLowNibbles) | ((last & kLowNibbles) << 4U));
        put_lane_dword(block.lines[2 * pair + 1], i, lane, ((first >> 4U) & kLowNibbles) | (last & ~kLowNibbles));
      }
    }
  }
  template <typename Block>
  static void unpack(const Block& block, std::size_t lane, std::byte* out) {
    for (std::size_t pair = 0; pair < 4; ++pair, out += kPairBytes) {
      for (std::size_t i = 0; i < kNibbleLines; ++i) {
        const std::uint32_t even = lane_dword(block.lines[2 * pair], i, lane);
        const std::uint32_t odd = lane_dword(block.lines[2 * pair + 1], i, lane);
        put_dword(out + i * kDword, (even & kLowNibbles) | ((odd & kLowNibbles) << 4U));
        put_dword(out + kPairBytes / 2 + i * kDword, ((even >> 4U) & kLowNibbles) | (odd & ~kLowNibbles));
      }
    }
  }
};

// 256 values of six bits. Each half of them has 64 bytes of nibbles (its values 0..63 in the low ones, 64..127 in the
// high ones); behind both, each has 32 bytes of bit pairs (pair i of byte k: of value 32i + k).
struct SixBitsField {
  static constexpr std::size_t kBytes = 192;

  static void pack(const std::byte* in, std::size_t lane, StripeQ6_K& block) {
    for (std::size_t half = 0; half < 2; ++half) {
      Values values[4];  // of the half's four blocks
      for (std::size_t i = 0; i < 8; ++i) {
        const std::uint32_t even = dword_at(in + half * 64 + i * kDword);
        const std::uint32_t odd = dword_at(in + half * 64 + 32 + i * kDword);
        const std::uint32_t top = dword_at(in + 128 + half * 32 + i * kDword);
        values[0][i] = (even & kLowNibbles) | ((top & kLowPairs) << 4U);
        values[1][i] = (odd & kLowNibbles) | (((top >> 2U) & kLowPairs) << 4U);
        values[2][i] = ((even >> 4U) & kLowNibbles) | (((top >> 4U) & kLowPairs) << 4U);
        values[3][i] = ((odd >> 4U) & kLowNibbles) | (((top >> 6U) & kLowPairs) << 4U);
      }
      for (std::size_t j = 0; j < 4; ++j) put_values(values[j], lane, block.lines[half * 4 + j]);
    }
  }

  static void unpack(const StripeQ6_K& block, std::size_t lane, std::byte* out) {
    for (std::size_t half = 0; half < 2; ++half) {
      Values values[4];
      for (std::size_t j = 0; j < 4; ++j) values[j] = values_of(block.lines[half * 4 + j], lane);
      for (std::size_t i = 0; i < 8; ++i) {
        const auto low = [&](std::size_t j) { return values[j][i] & kLowNibbles; };
        const auto top = [&](std::size_t j) { return (values[j][i] >> 4U) & kLowPairs; };
        put_dword(out + half * 64 + i * kDword, low(0) | (low(2) << 4U));
        put_dword(out + half * 64 + 32 + i * kDword, low(1) | (low(3) << 4U));
        put_dword(out + 128 + half * 32 + i * kDword, top(0) | (top(1) << 2U) | (top(2) << 4U) | (top(3) << 6U));
      }
    }
  }

 private:
  using Values = std::array<std::uint32_t, 8>;  // of a block of 32, four in each dword

  // Of each 16 values, the last four go into the upper bits of the others.
  static void put_values(const Values& values, std::size_t lane, std::uint8_t* lines) {
    for (std::size_t half = 0; half < 2; ++half) {
      const std::uint32_t last = values[half * 4 + kSixBitLines];
      for (std::size_t i = 0; i < kSixBitLines; ++i) {
        const std::uint32_t upper = ((last >> (2 * i)) & kLowPairs) << 6U;
        put_lane_dword(lines, half * kSixBitLines + i, lane, values[half * 4 + i] | upper);
      }
    }
  }
  static Values values_of(const std::uint8_t* lines, std::size_t lane) {
    Values values{};
    for (std::size_t half = 0; half < 2; ++half) {
      for (std::size_t i = 0; i < kSixBitLines; ++i) {
        const std::uint32_t dword = lane_dword(lines, half * kSixBitLines + i, lane);
        values[half * 4 + i] = dword & kLowSixes;
        values[half * 4 + kSixBitLines] |= ((dword >> 6U) & kLowPairs) << (2 * i);
      }
    }
    return values;
  }
};

// Sixteen int8 scales.
struct Int8SubScalesField {
  static constexpr std::size_t kBytes = 16;
  static void pack(const std::byte* in, std::size_t lane, StripeQ6_K& block) {
    for (std::size_t j = 0; j < 8; ++j) std::memcpy(block.sub_scales[j][lane], in + 2 * j, 2);
  }
  static void unpack(const StripeQ6_K& block, std::size_t lane, std::byte* out) {
    for (std::size_t j = 0; j < 8; ++j) std::memcpy(out + 2 * j, block.sub_scales[j][lane], 2);
  }
};

// Eight 6-bit scales, 32 more than they mean: their upper two bits in a word, their lower four in nibbles.
struct SplitSubScalesField {
  static constexpr std::size_t kBytes = 6;
  static constexpr int kOffset = 32;
  static void pack(const std::byte* in, std::size_t lane, StripeIQ4_XS& block) {
    std::uint16_t upper;
    std::memcpy(&upper, in, sizeof upper);
    const std::uint32_t lower = dword_at(in + 2);
    for (unsigned j = 0; j < 8; ++j) {
      const unsigned scale = ((lower >> (4 * j)) & 15U) | (((unsigned{upper} >> (2 * j)) & 3U) << 4U);
      block.sub_scales[j][lane] = static_cast<std::int8_t>(static_cast<int>(scale) - kOffset);
    }
  }
  static void unpack(const StripeIQ4_XS& block, std::size_t lane, std::byte* out) {
    unsigned upper = 0;
    std::uint32_t lower = 0;
    for (unsigned j = 0; j < 8; ++j) {
      const auto scale = static_cast<unsigned>(block.sub_scales[j][lane] + kOffset);
      lower |= (scale & 15U) << (4 * j);
      upper |= scale >> 4U << (2 * j);
    }
    const auto word = static_cast<std::uint16_t>(upper);
    std::memcpy(out, &word, sizeof word);
    put_dword(out + 2, lower);
  }
};

// A file's block, field by field.
template <typename Stripe, typename... Fields>
struct PackFields {
  using Block = Stripe;
  static constexpr std::size_t kFileBlock = (Fields::kBytes + ...);
  static void pack(const std::byte* in, std::size_t lane, Block& block) {
    ((Fields::pack(in, lane, block), in += Fields::kBytes), ...);
  }
  static void unpack(const Block& block, std::size_t lane, std::byte* out) {
    ((Fields::unpack(block, lane, out), out += Fields::kBytes), ...);
  }
};

using NibblesField = LineField<kNibbleLines>;
using BytesField = LineField<8>;

using PackQ4_0 = PackFields<StripeQ4_0, ScaleField, NibblesField>;
using PackQ4_1 = PackFields<StripeQ4_1, ScaleField, MinField, NibblesField>;
using PackQ5_0 = PackFields<StripeQ5_0, ScaleField, FifthBitsField, NibblesField>;
using PackQ5_1 = PackFields<StripeQ5_1, ScaleField, MinField, FifthBitsField, NibblesField>;
using PackQ8_0 = PackFields<StripeQ8_0, ScaleField, BytesField>;
using PackQ4_K = PackFields<StripeQ4_K, ScaleField, MinField, SubScalesAndMinsField, NibblePairsField>;
using PackQ5_K =
    PackFields<StripeQ5_K, ScaleField, MinField, SubScalesAndMinsField, FifthBitPlanesField, NibblePairsField>;
using PackQ6_K = PackFields<StripeQ6_K, SixBitsField, Int8SubScalesField, ScaleField>;
using PackIQ4_XS = PackFields<StripeIQ4_XS, ScaleField, SplitSubScalesField, NibbleBlocksField>;

static_assert(PackQ4_0::kFileBlock == 18 && PackQ4_1::kFileBlock == 20 && PackQ5_0::kFileBlock == 22 &&
              PackQ5_1::kFileBlock == 24 && PackQ8_0::kFileBlock == 34 && PackQ4_K::kFileBlock == 144 &&
              PackQ5_K::kFileBlock == 176 && PackQ6_K::kFileBlock == 210 && PackIQ4_XS::kFileBlock == 136);

// Values without blocks: [k][16 rows].
template <typename Word>
struct PackPlain {
  struct Block {
    Word lanes[kLanes];
  };
  static constexpr std::size_t kFileBlock = sizeof(Word);
  static void pack(const std::byte* in, std::size_t lane, Block& block) {
    std::memcpy(&block.lanes[lane], in, sizeof(Word));
  }
  static void unpack(const Block& block, std::size_t lane, std::byte* out) {
    std::memcpy(out, &block.lanes[lane], sizeof(Word));
  }
};

template <typename Format>
constexpr StripeFormat stripe_format_of(TensorType type) {
  using Block = typename Format::Block;
  return {type, sizeof(Block),
          [](const std::byte* row, std::size_t blocks, std::size_t lane, std::byte* stripe) {
            auto* to = reinterpret_cast<Block*>(stripe);
            for (std::size_t b = 0; b < blocks; ++b) Format::pack(row + b * Format::kFileBlock, lane, to[b]);
          },
          [](const std::byte* stripe, std::size_t lane, std::size_t first, std::size_t blocks, std::byte* row) {
            const auto* from = reinterpret_cast<const Block*>(stripe) + first;
            for (std::size_t b = 0; b < blocks; ++b) Format::unpack(from[b], lane, row + b * Format::kFileBlock);
          }};
}

constexpr StripeFormat kStripeFormats[] = {
    stripe_format_of<PackQ4_0>(TensorType::kQ4_0),
    stripe_format_of<PackQ4_1>(TensorType::kQ4_1),
    stripe_format_of<PackQ5_0>(TensorType::kQ5_0),
    stripe_format_of<PackQ5_1>(TensorType::kQ5_1),
    stripe_format_of<PackQ8_0>(TensorType::kQ8_0),
    stripe_format_of<PackQ4_0>(TensorType::kIQ4_NL),
    stripe_format_of<PackQ4_K>(TensorType::kQ4_K),
    stripe_format_of<PackQ5_K>(TensorType::kQ5_K),
    stripe_format_of<PackQ6_K>(TensorType::kQ6_K),
    stripe_format_of<PackIQ4_XS>(TensorType::kIQ4_XS),
    stripe_format_of<PackPlain<std::uint32_t>>(TensorType::kF32),
    stripe_format_of<PackPlain<std::uint16_t>>(TensorType::kF16),
    stripe_format_of<PackPlain<std::uint16_t>>(TensorType::kBF16),
};

}  // namespace

const StripeFormat* stripe_format(TensorType type) {
  for (const StripeFormat& format : kStripeFormats) {
    if (format.type == type) return &format;
  }
  return nullptr;
}

}  // namespace takt
