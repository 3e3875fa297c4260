// Counter-based random numbers: a value is a pure function of (key, counter), so a draw never depends on what was drawn
// before, on batch mates or on threads. Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// SC'11, section 3.3).
#pragma once

#include <array>
#include <cstdint>

namespace takt {

// Four 32-bit words for (key, counter).
std::array<std::uint32_t, 4> philox4x32(std::uint64_t key, std::uint64_t counter);

// Uniform double in [0, 1), 53 bits.
double uniform01(std::uint64_t key, std::uint64_t counter);

// A fresh, unpredictable 64-bit seed from the system.
std::uint64_t fresh_seed();

}  // namespace takt
