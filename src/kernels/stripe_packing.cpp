#include "kernels/stripe_packing.h"

#include <cstdint>
#include <cstring>

#include "kernels/stripe_layout.h"

namespace takt {
namespace {

std::uint8_t byte_at(const std::byte* p, std::size_t i) {
  return std::to_integer<std::uint8_t>(p[i]);
}

std::uint16_t word_at(const std::byte* p) {
  std::uint16_t word;
  std::memcpy(&word, p, sizeof word);
  return word;
}

// The 16 bytes of a block of 32 nibbles, low nibbles k = 0..15, high ones k = 16..31, as dwords of the lane's four
// lines.
void place_nibbles(const std::byte* bytes, std::size_t lane, std::uint8_t* lines) {
  for (std::size_t j = 0; j < kNibbleLines; ++j) std::memcpy(lines + j * kLineBytes + lane * 4, bytes + j * 4, 4);
}

void take_nibbles(const std::uint8_t* lines, std::size_t lane, std::byte* bytes) {
  for (std::size_t j = 0; j < kNibbleLines; ++j) std::memcpy(bytes + j * 4, lines + j * kLineBytes + lane * 4, 4);
}

// Bits of k, as stripes keep them: a byte of the line for each k mod 4.
struct BitPlace {
  std::size_t byte;
  unsigned shift;
};
BitPlace fifth_bit_place(std::size_t lane, std::size_t k) {
  return {lane * 4 + k % 4, static_cast<unsigned>(k / 16 * 4 + k % 16 / 4)};
}

void put(std::uint8_t* line, BitPlace place, unsigned bits) {
  line[place.byte] = static_cast<std::uint8_t>(line[place.byte] | (bits << place.shift));
}
unsigned get(const std::uint8_t* line, BitPlace place, unsigned mask) {
  return (static_cast<unsigned>(line[place.byte]) >> place.shift) & mask;
}

// The fifth bits of 32 values, as a file's dword.
void place_fifth_bits(const std::byte* dword, std::size_t lane, std::uint8_t* line) {
  for (std::size_t k = 0; k < 32; ++k) put(line, fifth_bit_place(lane, k), (byte_at(dword, k / 8) >> (k % 8)) & 1U);
}
void take_fifth_bits(const std::uint8_t* line, std::size_t lane, std::byte* dword) {
  std::uint32_t bits = 0;
  for (std::size_t k = 0; k < 32; ++k) bits |= get(line, fifth_bit_place(lane, k), 1) << k;
  std::memcpy(dword, &bits, sizeof bits);
}

// Eight 6-bit scales and eight 6-bit mins in 12 bytes: the first four of each in the low bits of bytes 0..7, the others
// in nibbles of bytes 8..11 and the top bits of bytes 0..7.
struct SubScale {
  std::uint8_t scale;
  std::uint8_t min;
};
SubScale sub_scale(const std::byte* packed, std::size_t j) {
  if (j < 4)
    return {static_cast<std::uint8_t>(byte_at(packed, j) & 63), static_cast<std::uint8_t>(byte_at(packed, j + 4) & 63)};
  const std::uint8_t both = byte_at(packed, j + 4);
  return {static_cast<std::uint8_t>((both & 15) | ((byte_at(packed, j - 4) >> 6) << 4)),
          static_cast<std::uint8_t>((both >> 4) | ((byte_at(packed, j) >> 6) << 4))};
}

// The 12 bytes of a Q4_K or Q5_K block.
template <typename Block>
void place_sub_scales(const std::byte* packed, std::size_t lane, Block& block) {
  for (std::size_t j = 0; j < 8; ++j) {
    const SubScale sub = sub_scale(packed, j);
    block.sub_scales[j][lane] = sub.scale;
    block.sub_mins[j][lane] = sub.min;
  }
}
template <typename Block>
void take_sub_scales(const Block& block, std::size_t lane, std::byte* out) {
  const auto scale = [&](std::size_t j) -> unsigned { return block.sub_scales[j][lane]; };
  const auto min = [&](std::size_t j) -> unsigned { return block.sub_mins[j][lane]; };
  for (std::size_t j = 0; j < 4; ++j) {
    out[j] = static_cast<std::byte>(scale(j) | (scale(j + 4) >> 4U << 6U));
    out[4 + j] = static_cast<std::byte>(min(j) | (min(j + 4) >> 4U << 6U));
    out[8 + j] = static_cast<std::byte>((scale(j + 4) & 15U) | ((min(j + 4) & 15U) << 4U));
  }
}

// Q4_K and Q5_K: 32 bytes of the file hold two sub-blocks, the even one in the low nibbles.
void place_sub_block_pairs(const std::byte* nibbles, std::size_t lane,
                           std::uint8_t (*lines)[kNibbleLines * kLineBytes]) {
  for (std::size_t j = 0; j < 8; ++j) {
    const std::byte* pair = nibbles + j / 2 * 32;
    const unsigned shift = j % 2 * 4;
    std::byte together[16];
    for (std::size_t k = 0; k < 16; ++k) {
      const unsigned low = (byte_at(pair, k) >> shift) & 15U;
      const unsigned high = (byte_at(pair, k + 16) >> shift) & 15U;
      together[k] = static_cast<std::byte>(low | (high << 4U));
    }
    place_nibbles(together, lane, lines[j]);
  }
}
void take_sub_block_pairs(const std::uint8_t (*lines)[kNibbleLines * kLineBytes], std::size_t lane, std::byte* out) {
  for (std::size_t pair = 0; pair < 4; ++pair) {
    std::byte even[16];
    std::byte odd[16];
    take_nibbles(lines[2 * pair], lane, even);
    take_nibbles(lines[2 * pair + 1], lane, odd);
    std::byte* nibbles = out + pair * 32;
    for (std::size_t k = 0; k < 16; ++k) {
      nibbles[k] = (even[k] & std::byte{15}) | (odd[k] << 4U);
      nibbles[k + 16] = (even[k] >> 4U) | (odd[k] & std::byte{0xF0});
    }
  }
}

struct PackQ4_0 {
  using Block = StripeQ4_0;
  static constexpr std::size_t kFileBlock = 18;
  static void pack(const std::byte* in, std::size_t lane, Block& block) {
    block.scales[lane] = word_at(in);
    place_nibbles(in + 2, lane, block.lines);
  }
  static void unpack(const Block& block, std::size_t lane, std::byte* out) {
    std::memcpy(out, &block.scales[lane], 2);
    take_nibbles(block.lines, lane, out + 2);
  }
};

struct PackQ4_1 {
  using Block = StripeQ4_1;
  static constexpr std::size_t kFileBlock = 20;
  static void pack(const std::byte* in, std::size_t lane, Block& block) {
    block.scales[lane] = word_at(in);
    block.mins[lane] = word_at(in + 2);
    place_nibbles(in + 4, lane, block.lines);
  }
  static void unpack(const Block& block, std::size_t lane, std::byte* out) {
    std::memcpy(out, &block.scales[lane], 2);
    std::memcpy(out + 2, &block.mins[lane], 2);
    take_nibbles(block.lines, lane, out + 4);
  }
};

struct PackQ5_0 {
  using Block = StripeQ5_0;
  static constexpr std::size_t kFileBlock = 22;
  static void pack(const std::byte* in, std::size_t lane, Block& block) {
    block.scales[lane] = word_at(in);
    place_fifth_bits(in + 2, lane, block.fifth_bits);
    place_nibbles(in + 6, lane, block.lines);
  }
  static void unpack(const Block& block, std::size_t lane, std::byte* out) {
    std::memcpy(out, &block.scales[lane], 2);
    take_fifth_bits(block.fifth_bits, lane, out + 2);
    take_nibbles(block.lines, lane, out + 6);
  }
};

struct PackQ5_1 {
  using Block = StripeQ5_1;
  static constexpr std::size_t kFileBlock = 24;
  static void pack(const std::byte* in, std::size_t lane, Block& block) {
    block.scales[lane] = word_at(in);
    block.mins[lane] = word_at(in + 2);
    place_fifth_bits(in + 4, lane, block.fifth_bits);
    place_nibbles(in + 8, lane, block.lines);
  }
  static void unpack(const Block& block, std::size_t lane, std::byte* out) {
    std::memcpy(out, &block.scales[lane], 2);
    std::memcpy(out + 2, &block.mins[lane], 2);
    take_fifth_bits(block.fifth_bits, lane, out + 4);
    take_nibbles(block.lines, lane, out + 8);
  }
};

struct PackQ8_0 {
  using Block = StripeQ8_0;
  static constexpr std::size_t kFileBlock = 34;
  static void pack(const std::byte* in, std::size_t lane, Block& block) {
    block.scales[lane] = word_at(in);
    for (std::size_t j = 0; j < 8; ++j) std::memcpy(block.lines + j * kLineBytes + lane * 4, in + 2 + j * 4, 4);
  }
  static void unpack(const Block& block, std::size_t lane, std::byte* out) {
    std::memcpy(out, &block.scales[lane], 2);
    for (std::size_t j = 0; j < 8; ++j) std::memcpy(out + 2 + j * 4, block.lines + j * kLineBytes + lane * 4, 4);
  }
};

// d, dmin, 12 bytes of sub-scales, nibbles.
struct PackQ4_K {
  using Block = StripeQ4_K;
  static constexpr std::size_t kFileBlock = 144;
  static void pack(const std::byte* in, std::size_t lane, Block& block) {
    block.scales[lane] = word_at(in);
    block.mins[lane] = word_at(in + 2);
    place_sub_scales(in + 4, lane, block);
    place_sub_block_pairs(in + 16, lane, block.lines);
  }
  static void unpack(const Block& block, std::size_t lane, std::byte* out) {
    std::memcpy(out, &block.scales[lane], 2);
    std::memcpy(out + 2, &block.mins[lane], 2);
    take_sub_scales(block, lane, out + 4);
    take_sub_block_pairs(block.lines, lane, out + 16);
  }
};

// d, dmin, 12 bytes of sub-scales, 32 bytes of fifth bits (bit j of byte k: of sub-block j), nibbles.
struct PackQ5_K {
  using Block = StripeQ5_K;
  static constexpr std::size_t kFileBlock = 176;
  static void pack(const std::byte* in, std::size_t lane, Block& block) {
    block.scales[lane] = word_at(in);
    block.mins[lane] = word_at(in + 2);
    place_sub_scales(in + 4, lane, block);
    for (std::size_t j = 0; j < 8; ++j) {
      for (std::size_t k = 0; k < 32; ++k)
        put(block.fifth_bits[j], fifth_bit_place(lane, k), (byte_at(in + 16, k) >> j) & 1U);
    }
    place_sub_block_pairs(in + 48, lane, block.lines);
  }
  static void unpack(const Block& block, std::size_t lane, std::byte* out) {
    std::memcpy(out, &block.scales[lane], 2);
    std::memcpy(out + 2, &block.mins[lane], 2);
    take_sub_scales(block, lane, out + 4);
    for (std::size_t k = 0; k < 32; ++k) {
      unsigned bits = 0;
      for (std::size_t j = 0; j < 8; ++j) bits |= get(block.fifth_bits[j], fifth_bit_place(lane, k), 1) << j;
      out[16 + k] = static_cast<std::byte>(bits);
    }
    take_sub_block_pairs(block.lines, lane, out + 48);
  }
};

// Low nibbles[128], top bits[64], 16 sub-scales, d. Each half of the block has 64 bytes of nibbles (its values 0..63 in
// the low ones, 64..127 in the high ones) and 32 bytes of bit pairs (pair i of byte k: of value 32i + k).
struct PackQ6_K {
  using Block = StripeQ6_K;
  static constexpr std::size_t kFileBlock = 210;
  struct Place {  // of value k of sub-block pair j
    std::size_t nibble;
    unsigned nibble_shift;
    std::size_t top;
    unsigned top_shift;
  };
  static Place place(std::size_t j, std::size_t k) {
    const std::size_t half = j / 4;
    return {half * 64 + j % 2 * 32 + k, static_cast<unsigned>(j % 4 / 2 * 4), 128 + half * 32 + k,
            static_cast<unsigned>(j % 4 * 2)};
  }
  static void pack(const std::byte* in, std::size_t lane, Block& block) {
    block.scales[lane] = word_at(in + 208);
    for (std::size_t i = 0; i < 16; ++i) block.sub_scales[i / 2][lane][i % 2] = static_cast<std::int8_t>(in[192 + i]);
    for (std::size_t j = 0; j < 8; ++j) {
      for (std::size_t k = 0; k < 32; ++k) {
        const Place from = place(j, k);
        const unsigned low = (byte_at(in, from.nibble) >> from.nibble_shift) & 15U;
        const unsigned top = (byte_at(in, from.top) >> from.top_shift) & 3U;
        put_six_bits(block.lines[j], lane, k, low | (top << 4U));
      }
    }
  }
  static void unpack(const Block& block, std::size_t lane, std::byte* out) {
    std::memset(out, 0, kFileBlock);
    std::memcpy(out + 208, &block.scales[lane], 2);
    for (std::size_t i = 0; i < 16; ++i) out[192 + i] = static_cast<std::byte>(block.sub_scales[i / 2][lane][i % 2]);
    for (std::size_t j = 0; j < 8; ++j) {
      for (std::size_t k = 0; k < 32; ++k) {
        const Place to = place(j, k);
        const unsigned value = get_six_bits(block.lines[j], lane, k);
        out[to.nibble] |= static_cast<std::byte>((value & 15U) << to.nibble_shift);
        out[to.top] |= static_cast<std::byte>(value >> 4U << to.top_shift);
      }
    }
  }

 private:
  static std::uint8_t& byte_of(std::uint8_t* lines, std::size_t lane, std::size_t k, std::size_t line) {
    return lines[(k / 16 * kSixBitLines + line) * kLineBytes + lane * 4 + k % 4];
  }
  static void put_six_bits(std::uint8_t* lines, std::size_t lane, std::size_t k, unsigned value) {
    const std::size_t line = k % 16 / 4;
    if (line < kSixBitLines) {
      std::uint8_t& byte = byte_of(lines, lane, k, line);
      byte = static_cast<std::uint8_t>(byte | value);
      return;
    }
    for (std::size_t j = 0; j < kSixBitLines; ++j) {
      std::uint8_t& byte = byte_of(lines, lane, k, j);
      byte = static_cast<std::uint8_t>(byte | (value >> (2 * j) & 3U) << 6U);
    }
  }
  static unsigned get_six_bits(const std::uint8_t* lines, std::size_t lane, std::size_t k) {
    const std::size_t line = k % 16 / 4;
    const auto byte = [&](std::size_t j) -> unsigned {
      return lines[(k / 16 * kSixBitLines + j) * kLineBytes + lane * 4 + k % 4];
    };
    if (line < kSixBitLines) return byte(line) & 63U;
    return byte(0) >> 6U | byte(1) >> 6U << 2U | byte(2) >> 6U << 4U;
  }
};

// d, the upper two bits of eight sub-scales, their lower four, nibbles sub-block by sub-block.
struct PackIQ4_XS {
  using Block = StripeIQ4_XS;
  static constexpr std::size_t kFileBlock = 136;
  static constexpr int kScaleOffset = 32;
  static void pack(const std::byte* in, std::size_t lane, Block& block) {
    block.scales[lane] = word_at(in);
    const unsigned upper = word_at(in + 2);
    for (std::size_t j = 0; j < 8; ++j) {
      const unsigned scale = ((byte_at(in, 4 + j / 2) >> (j % 2 * 4)) & 15U) | (((upper >> (2 * j)) & 3U) << 4U);
      block.sub_scales[j][lane] = static_cast<std::int8_t>(static_cast<int>(scale) - kScaleOffset);
      place_nibbles(in + 8 + j * 16, lane, block.lines[j]);
    }
  }
  static void unpack(const Block& block, std::size_t lane, std::byte* out) {
    std::memcpy(out, &block.scales[lane], 2);
    std::memset(out + 2, 0, 6);
    unsigned upper = 0;
    for (std::size_t j = 0; j < 8; ++j) {
      const auto scale = static_cast<unsigned>(block.sub_scales[j][lane] + kScaleOffset);
      out[4 + j / 2] |= static_cast<std::byte>((scale & 15U) << (j % 2 * 4));
      upper |= scale >> 4U << (2 * j);
      take_nibbles(block.lines[j], lane, out + 8 + j * 16);
    }
    const auto word = static_cast<std::uint16_t>(upper);
    std::memcpy(out + 2, &word, sizeof word);
  }
};

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
