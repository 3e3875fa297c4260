// The densest loops of the instructions that the AVX2 kernels live on.
#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace takt {

std::int32_t multiply_int8_avx2(std::size_t rounds);
float multiply_f32_avx2(std::size_t rounds);
std::uint64_t read_lines_avx2(const std::uint64_t* data, std::size_t words);

std::int32_t multiply_int8_avx2(std::size_t rounds) {
  const __m256i a = _mm256_set1_epi8(3);
  __m256i sums[8];
  for (auto& sum : sums) sum = _mm256_setzero_si256();
  for (std::size_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 8
    for (int c = 0; c < 8; ++c) {
      __m256i b = sums[c];
      __asm__("" : "+x"(b));  // an operand that the compiler can't foresee
      sums[c] = _mm256_add_epi16(sums[c], _mm256_maddubs_epi16(a, b));
    }
  }
  __m256i total = sums[0];
  for (int c = 1; c < 8; ++c) total = _mm256_add_epi16(total, sums[c]);
  return _mm256_extract_epi32(total, 0);
}

float multiply_f32_avx2(std::size_t rounds) {
  const __m256 a = _mm256_set1_ps(0.5F);
  const __m256 b = _mm256_set1_ps(1.0F);
  __m256 sums[12];
  for (auto& sum : sums) sum = _mm256_setzero_ps();
  for (std::size_t i = 0; i < rounds * 8 / 12 + 1; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < 12; ++c) sums[c] = _mm256_fmadd_ps(sums[c], a, b);
  }
  __m256 total = sums[0];
  for (int c = 1; c < 12; ++c) total = _mm256_add_ps(total, sums[c]);
  return _mm256_cvtss_f32(total);
}

std::uint64_t read_lines_avx2(const std::uint64_t* data, std::size_t words) {
  __m256i sums[4];
  for (auto& sum : sums) sum = _mm256_setzero_si256();
  for (std::size_t i = 0; i + 16 <= words; i += 16) {
    _mm_prefetch(reinterpret_cast<const char*>(data + i + 128), _MM_HINT_T0);
    _mm_prefetch(reinterpret_cast<const char*>(data + i + 136), _MM_HINT_T0);
#pragma GCC unroll 4
    for (int c = 0; c < 4; ++c)
      sums[c] = _mm256_xor_si256(sums[c], _mm256_loadu_si256(reinterpret_cast<const __m256i*>(data + i + 4 * c)));
  }
  const __m256i total = _mm256_xor_si256(_mm256_xor_si256(sums[0], sums[1]), _mm256_xor_si256(sums[2], sums[3]));
  return static_cast<std::uint64_t>(_mm256_extract_epi64(total, 0));
}

}  // namespace takt
