// The 16 virtual lanes as two 256-bit registers: AVX2, FMA, F16C. Included only by the translation unit that is
// compiled for them; it uses no inline functions of other headers, so that no such code reaches the rest of the program
// through the linker.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/numerics.h"

#define TAKT_INLINE inline __attribute__((always_inline))

namespace takt {

struct Avx2Lanes {
  static constexpr std::size_t kWidth = kLanes;
  struct F {
    __m256 a, b;
  };
  struct I {
    __m256i a, b;
  };

  static TAKT_INLINE F load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
  static TAKT_INLINE F load_half(const std::uint16_t* p) {
    return {_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))),
            _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 8)))};
  }
  static TAKT_INLINE F load_bfloat(const std::uint16_t* p) {
    const auto widen = [](const std::uint16_t* q) {
      return _mm256_castsi256_ps(
          _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(q))), 16));
    };
    return {widen(p), widen(p + 8)};
  }
  static TAKT_INLINE I load_u8(const std::uint8_t* p) {
    return {_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))),
            _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p + 8)))};
  }
  static TAKT_INLINE I load_i8(const std::int8_t* p) {
    return {_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))),
            _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p + 8)))};
  }
  static TAKT_INLINE I load_i8_pairs(const std::int8_t* p) {
    return {_mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))),
            _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16)))};
  }
  static TAKT_INLINE void store(float* p, F x) {
    _mm256_storeu_ps(p, x.a);
    _mm256_storeu_ps(p + 8, x.b);
  }
  static TAKT_INLINE void store_half(std::uint16_t* p, F x) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(x.a, _MM_FROUND_TO_NEAREST_INT));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p + 8), _mm256_cvtps_ph(x.b, _MM_FROUND_TO_NEAREST_INT));
  }
  static TAKT_INLINE void store_i8(std::int8_t* p, I x) {
    const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(x.a, x.b), 0xD8);
    const __m128i bytes = _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), bytes);
  }
  static TAKT_INLINE F broadcast(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
  static TAKT_INLINE I broadcast_int(std::int32_t x) { return {_mm256_set1_epi32(x), _mm256_set1_epi32(x)}; }
  static TAKT_INLINE I iota() {
    return {_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_setr_epi32(8, 9, 10, 11, 12, 13, 14, 15)};
  }

  static TAKT_INLINE F add(F x, F y) { return {_mm256_add_ps(x.a, y.a), _mm256_add_ps(x.b, y.b)}; }
  static TAKT_INLINE F sub(F x, F y) { return {_mm256_sub_ps(x.a, y.a), _mm256_sub_ps(x.b, y.b)}; }
  static TAKT_INLINE F mul(F x, F y) { return {_mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b)}; }
  static TAKT_INLINE F div(F x, F y) { return {_mm256_div_ps(x.a, y.a), _mm256_div_ps(x.b, y.b)}; }
  static TAKT_INLINE F fma(F x, F y, F z) { return {_mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b)}; }
  static TAKT_INLINE float fma_one(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
  static TAKT_INLINE F max(F x, F y) { return {_mm256_max_ps(x.a, y.a), _mm256_max_ps(x.b, y.b)}; }
  static TAKT_INLINE F min(F x, F y) { return {_mm256_min_ps(x.a, y.a), _mm256_min_ps(x.b, y.b)}; }
  static TAKT_INLINE I less(F x, F y) {
    return {_mm256_castps_si256(_mm256_cmp_ps(x.a, y.a, _CMP_LT_OQ)),
            _mm256_castps_si256(_mm256_cmp_ps(x.b, y.b, _CMP_LT_OQ))};
  }
  static TAKT_INLINE I less_int(I x, I y) { return {_mm256_cmpgt_epi32(y.a, x.a), _mm256_cmpgt_epi32(y.b, x.b)}; }
  static TAKT_INLINE F select(I mask, F yes, F no) {
    return {_mm256_blendv_ps(no.a, yes.a, _mm256_castsi256_ps(mask.a)),
            _mm256_blendv_ps(no.b, yes.b, _mm256_castsi256_ps(mask.b))};
  }
  static TAKT_INLINE I bits(F x) { return {_mm256_castps_si256(x.a), _mm256_castps_si256(x.b)}; }
  static TAKT_INLINE F from_bits(I x) { return {_mm256_castsi256_ps(x.a), _mm256_castsi256_ps(x.b)}; }
  static TAKT_INLINE F to_float(I x) { return {_mm256_cvtepi32_ps(x.a), _mm256_cvtepi32_ps(x.b)}; }
  static TAKT_INLINE I add_int(I x, I y) { return {_mm256_add_epi32(x.a, y.a), _mm256_add_epi32(x.b, y.b)}; }
  static TAKT_INLINE I sub_int(I x, I y) { return {_mm256_sub_epi32(x.a, y.a), _mm256_sub_epi32(x.b, y.b)}; }
  static TAKT_INLINE I max_int(I x, I y) { return {_mm256_max_epi32(x.a, y.a), _mm256_max_epi32(x.b, y.b)}; }
  static TAKT_INLINE I and_int(I x, I y) { return {_mm256_and_si256(x.a, y.a), _mm256_and_si256(x.b, y.b)}; }
  static TAKT_INLINE I or_int(I x, I y) { return {_mm256_or_si256(x.a, y.a), _mm256_or_si256(x.b, y.b)}; }
  template <int kBits>
  static TAKT_INLINE I shift_left(I x) {
    return {_mm256_slli_epi32(x.a, kBits), _mm256_slli_epi32(x.b, kBits)};
  }
  template <int kBits>
  static TAKT_INLINE I shift_right_arithmetic(I x) {
    return {_mm256_srai_epi32(x.a, kBits), _mm256_srai_epi32(x.b, kBits)};
  }

  static TAKT_INLINE float sum(F x) {
    const __m256 eight = _mm256_add_ps(x.a, x.b);
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
  }
  static TAKT_INLINE float max_of(F x) {
    const __m256 eight = _mm256_max_ps(x.a, x.b);
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_shuffle_ps(two, two, 1)));
  }
  static TAKT_INLINE std::int32_t sum_int(I x) {
    const __m256i eight = _mm256_add_epi32(x.a, x.b);
    const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
    const __m128i two = _mm_add_epi32(four, _mm_unpackhi_epi64(four, four));
    return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 1)));
  }
  static TAKT_INLINE std::int32_t max_of_int(I x) {
    const __m256i eight = _mm256_max_epi32(x.a, x.b);
    const __m128i four = _mm_max_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
    const __m128i two = _mm_max_epi32(four, _mm_unpackhi_epi64(four, four));
    return _mm_cvtsi128_si32(_mm_max_epi32(two, _mm_shuffle_epi32(two, 1)));
  }

  template <int R>
  static TAKT_INLINE void dot_nibbles(const std::uint8_t* lines, const std::int8_t* x, std::size_t stride,
                                      I (&dots)[R]) {
    const __m256i ones = _mm256_set1_epi16(1);
    I pairs[R];
    nibble_pairs<R>(lines, x, stride, pairs);
    for (int r = 0; r < R; ++r) dots[r] = {_mm256_madd_epi16(pairs[r].a, ones), _mm256_madd_epi16(pairs[r].b, ones)};
  }

  // Half of the block at a time: 4 * 2 * 31 * 127 = 31496 fits 16 bits.
  template <int R>
  static TAKT_INLINE void dot_five_bits(const std::uint8_t* lines, const std::uint8_t* fifth, const std::int8_t* x,
                                        std::size_t stride, I (&dots)[R]) {
    const I ones = broadcast_int(0x00010001);
    for (int r = 0; r < R; ++r) dots[r] = broadcast_int(0);
    const I bits = {load_bytes(fifth), load_bytes(fifth + 32)};
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      I pairs[R];
      for (int r = 0; r < R; ++r) pairs[r] = broadcast_int(0);
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) {
        const I low = half_line(lines + 64 * j, half);
        const I weights = {_mm256_or_si256(low.a, fifth_bit(bits.a, 4 * half + j)),
                           _mm256_or_si256(low.b, fifth_bit(bits.b, 4 * half + j))};
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r)
          add_products(weights, broadcast_four(x + static_cast<std::size_t>(r) * stride + 16 * half + 4 * j), pairs[r]);
      }
      for (int r = 0; r < R; ++r) dots[r] = add_int(dots[r], multiply_add_pairs(pairs[r], ones));
    }
  }

  // A quarter of the block at a time: 2 * 2 * 63 * 127 = 32004 fits 16 bits.
  template <int R>
  static TAKT_INLINE void add_six_bits_scaled(const std::uint8_t* lines, const std::int8_t* x, std::size_t stride,
                                              I scales, I (&sums)[R]) {
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      const I scale = half == 0 ? low_halves(scales) : high_halves(scales);
      const std::uint8_t* at = lines + 192 * half;
      const std::int8_t* values = x + 16 * half;
      const I a = {load_bytes(at), load_bytes(at + 32)};
      const I b = {load_bytes(at + 64), load_bytes(at + 96)};
      add_two_scaled<R>(low_six_bits(a), low_six_bits(b), values, stride, scale, sums);
      const I c = {load_bytes(at + 128), load_bytes(at + 160)};
      const I d = {top_pairs(a.a, b.a, c.a), top_pairs(a.b, b.b, c.b)};
      add_two_scaled<R>(low_six_bits(c), d, values + 8, stride, scale, sums);
    }
  }

  // As dot_bytes: 2 * 127 * 127 fits 16 bits.
  template <int R>
  static TAKT_INLINE void dot_levels(const std::uint8_t* lines, const std::int8_t* levels, const std::int8_t* x,
                                     std::size_t stride, I (&dots)[R]) {
    for (int r = 0; r < R; ++r) dots[r] = broadcast_int(0);
    const __m256i table = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(levels)));
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {
      const I codes = half_line(lines + 64 * (i % 4), i / 4);
      const I weights = {_mm256_shuffle_epi8(table, codes.a), _mm256_shuffle_epi8(table, codes.b)};
      add_signed_products<R>(weights, x + 4 * i, stride, dots);
    }
  }

  // |w| * (x with w's sign): 2 * 128 * 127 fits 16 bits, twice that does not, so each product is widened.
  template <int R>
  static TAKT_INLINE void dot_bytes(const std::int8_t* lines, const std::int8_t* x, std::size_t stride, I (&dots)[R]) {
    for (int r = 0; r < R; ++r) dots[r] = broadcast_int(0);
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j) {
      const I weights = {load_bytes(lines + 64 * j), load_bytes(lines + 64 * j + 32)};
      add_signed_products<R>(weights, x + 4 * j, stride, dots);
    }
  }

  static TAKT_INLINE I multiply_add_pairs(I x, I y) {
    return {_mm256_madd_epi16(x.a, y.a), _mm256_madd_epi16(x.b, y.b)};
  }

 private:
  // Sums stay in their registers: GCC 12 otherwise regroups the integer additions, keeps all products alive at once and
  // spills them.
  static TAKT_INLINE void keep_order(I& sums) {
    __asm__("" : "+x"(sums.a), "+x"(sums.b));
  }

  static TAKT_INLINE __m256i load_bytes(const void* p) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(p));
  }
  static TAKT_INLINE __m256i broadcast_four(const std::int8_t* p) {
    std::int32_t word;
    __builtin_memcpy(&word, p, sizeof word);
    return _mm256_set1_epi32(word);
  }

  // Each lane holds, in 16 bits, the sums over the even and the odd pairs of its 32 products: 8 * 2 * 15 * 127 = 30480
  // fits.
  template <int R>
  static TAKT_INLINE void nibble_pairs(const std::uint8_t* lines, const std::int8_t* x, std::size_t stride,
                                       I (&pairs)[R]) {
    const __m256i low_mask = _mm256_set1_epi8(15);
    for (int r = 0; r < R; ++r) pairs[r] = broadcast_int(0);
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      const I packed = {load_bytes(lines + 64 * j), load_bytes(lines + 64 * j + 32)};
      const I low = {_mm256_and_si256(packed.a, low_mask), _mm256_and_si256(packed.b, low_mask)};
      const I high = {_mm256_and_si256(_mm256_srli_epi16(packed.a, 4), low_mask),
                      _mm256_and_si256(_mm256_srli_epi16(packed.b, 4), low_mask)};
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) {
        const std::int8_t* row = x + static_cast<std::size_t>(r) * stride + 4 * j;
        add_products(low, broadcast_four(row), pairs[r]);
        add_products(high, broadcast_four(row + 16), pairs[r]);
      }
    }
  }
  // The low or the high nibbles of a line.
  static TAKT_INLINE I half_line(const std::uint8_t* line, int half) {
    const __m256i low_mask = _mm256_set1_epi8(15);
    const I packed = {load_bytes(line), load_bytes(line + 32)};
    if (half == 0) return {_mm256_and_si256(packed.a, low_mask), _mm256_and_si256(packed.b, low_mask)};
    return {_mm256_and_si256(_mm256_srli_epi16(packed.a, 4), low_mask),
            _mm256_and_si256(_mm256_srli_epi16(packed.b, 4), low_mask)};
  }
  // Bit `bit` of each byte, as 16.
  static TAKT_INLINE __m256i fifth_bit(__m256i bits, int bit) {
    const __m256i mask = _mm256_set1_epi8(16);
    return _mm256_and_si256(bit <= 4 ? _mm256_slli_epi16(bits, 4 - bit) : _mm256_srli_epi16(bits, bit - 4), mask);
  }
  // Each lane's lower (upper) 16 bits in both of its halves.
  static TAKT_INLINE I low_halves(I x) {
    const __m256i places =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 0, 1, 4, 5, 4, 5, 8, 9, 8, 9, 12, 13, 12, 13));
    return {_mm256_shuffle_epi8(x.a, places), _mm256_shuffle_epi8(x.b, places)};
  }
  static TAKT_INLINE I high_halves(I x) {
    const __m256i places =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(2, 3, 2, 3, 6, 7, 6, 7, 10, 11, 10, 11, 14, 15, 14, 15));
    return {_mm256_shuffle_epi8(x.a, places), _mm256_shuffle_epi8(x.b, places)};
  }
  static TAKT_INLINE I low_six_bits(I x) {
    const __m256i mask = _mm256_set1_epi8(63);
    return {_mm256_and_si256(x.a, mask), _mm256_and_si256(x.b, mask)};
  }
  // The value whose bits are, two by two, the upper ones of a, b and c.
  static TAKT_INLINE __m256i top_pairs(__m256i a, __m256i b, __m256i c) {
    const __m256i first = _mm256_and_si256(_mm256_srli_epi16(a, 6), _mm256_set1_epi8(3));
    const __m256i second = _mm256_and_si256(_mm256_srli_epi16(b, 4), _mm256_set1_epi8(12));
    const __m256i third = _mm256_and_si256(_mm256_srli_epi16(c, 2), _mm256_set1_epi8(48));
    return _mm256_or_si256(_mm256_or_si256(first, second), third);
  }
  // sums += scale * (the products of eight k).
  template <int R>
  static TAKT_INLINE void add_two_scaled(const I& first, const I& second, const std::int8_t* x, std::size_t stride,
                                         const I& scale, I (&sums)[R]) {
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      const std::int8_t* row = x + static_cast<std::size_t>(r) * stride;
      I pairs = broadcast_int(0);
      add_products(first, broadcast_four(row), pairs);
      add_products(second, broadcast_four(row + 4), pairs);
      sums[r] = add_int(sums[r], multiply_add_pairs(pairs, scale));
      keep_order(sums[r]);
    }
  }
  template <int R>
  static TAKT_INLINE void add_signed_products(const I& weights, const std::int8_t* x, std::size_t stride,
                                              I (&sums)[R]) {
    const I ones = broadcast_int(0x00010001);
    const I magnitudes = {_mm256_abs_epi8(weights.a), _mm256_abs_epi8(weights.b)};
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      const __m256i four = broadcast_four(x + static_cast<std::size_t>(r) * stride);
      const I pairs = {_mm256_maddubs_epi16(magnitudes.a, _mm256_sign_epi8(four, weights.a)),
                       _mm256_maddubs_epi16(magnitudes.b, _mm256_sign_epi8(four, weights.b))};
      sums[r] = add_int(sums[r], multiply_add_pairs(pairs, ones));
      keep_order(sums[r]);
    }
  }
  static TAKT_INLINE void add_products(const I& weights, __m256i x, I& pairs) {
    pairs.a = _mm256_add_epi16(pairs.a, _mm256_maddubs_epi16(weights.a, x));
    pairs.b = _mm256_add_epi16(pairs.b, _mm256_maddubs_epi16(weights.b, x));
    keep_order(pairs);
  }
};

}  // namespace takt
