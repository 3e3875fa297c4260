// Shared by the kernel tests: reproducible data, comparison by bits, every level that this machine has.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "kernels/compute.h"
#include "kernels/isa.h"
#include "kernels/matrix_view.h"
#include "kernels/tensor_type.h"

namespace takt::test {

// Uniform in [-1, 1), a pure function of (seed, index).
inline float value_at(std::uint64_t seed, std::size_t index) {
  return static_cast<float>(uniform01(seed, index) * 2.0 - 1.0);
}

inline std::vector<float> random_floats(std::uint64_t seed, std::size_t n, float scale = 1.0F) {
  std::vector<float> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = scale * value_at(seed, i);
  return values;
}

inline MatrixView view_of(std::vector<float>& values, std::size_t rows, std::size_t cols) {
  return {values.data(), rows, cols, cols};
}

// NaN equals NaN whatever its payload: which operand's payload survives is the machine's choice.
inline bool same_bits(float a, float b) {
  if (std::isnan(a) && std::isnan(b)) return true;
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

inline ::testing::AssertionResult same_bits(std::span<const float> a, std::span<const float> b) {
  if (a.size() != b.size()) return ::testing::AssertionFailure() << a.size() << " values against " << b.size();
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!same_bits(a[i], b[i]))
      return ::testing::AssertionFailure() << "value " << i << ": " << a[i] << " against " << b[i];
  }
  return ::testing::AssertionSuccess();
}

// The levels that this machine and build can run.
inline std::vector<Isa> runnable_levels() {
  std::vector<Isa> levels;
  for (const Isa isa : isa_built()) {
    if (isa_available(isa)) levels.push_back(isa);
  }
  return levels;
}

// Bytes of `rows` rows of a type: random bits, but scales that are ordinary numbers (a random half float may be NaN or
// huge).
inline std::vector<std::byte> random_weights(TensorType type, std::uint64_t seed, std::size_t rows, std::size_t cols) {
  const TensorTypeInfo& info = tensor_type_info(type);
  std::vector<std::byte> bytes(row_bytes(type, cols) * rows);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(philox4x32(seed, i)[0] & 0xFFU);
  const auto put_half = [&](std::size_t at, std::size_t i) {
    const auto half = static_cast<std::uint16_t>(0x1800U | (philox4x32(seed + 1, i)[0] & 0x83FFU));  // +-0.002 to 0.004
    std::memcpy(bytes.data() + at, &half, 2);
  };
  for (std::size_t block = 0; block < bytes.size() / info.block_bytes; ++block) {
    const std::size_t start = block * info.block_bytes;
    switch (type) {
      case TensorType::kF32: {
        const float value = value_at(seed, block);
        std::memcpy(bytes.data() + start, &value, 4);
        break;
      }
      case TensorType::kF16:
        put_half(start, block);
        break;
      case TensorType::kBF16: {
        const auto top = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value_at(seed, block)) >> 16U);
        std::memcpy(bytes.data() + start, &top, 2);
        break;
      }
      case TensorType::kQ2_K:
        put_half(start + 80, 2 * block), put_half(start + 82, 2 * block + 1);
        break;
      case TensorType::kQ3_K:
        put_half(start + 108, block);
        break;
      case TensorType::kQ6_K:
        put_half(start + 208, block);
        break;
      case TensorType::kQ4_1:
      case TensorType::kQ5_1:
      case TensorType::kQ4_K:
      case TensorType::kQ5_K:
        put_half(start, 2 * block), put_half(start + 2, 2 * block + 1);
        break;
      default:
        put_half(start, block);
        break;
    }
  }
  return bytes;
}

}  // namespace takt::test
