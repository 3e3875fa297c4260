// Cheap, fixed 64-bit mixing: the same in every build and run. Not for secrets.
#pragma once

#include <cstdint>
#include <string_view>

namespace takt::trace {

// A well mixed function of both (the finaliser of SplitMix64; Steele, Lea, Flood, OOPSLA 2014).
constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t z = a + 0x9E3779B97F4A7C15u * (b + 1);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

constexpr std::uint64_t hash_text(std::string_view text) {
  std::uint64_t hash = 0;
  for (const char c : text) hash = mix(hash, static_cast<unsigned char>(c));
  return hash;
}

}  // namespace takt::trace
