// How keys and values are stored. Beside nothing else, for the units of the instruction sets.
#pragma once

#include <cstdint>

namespace takt {

enum class KvType : std::uint8_t {
  kF16,
  kF32,
  kQ8_0  // int8 and a half-float scale for every 32 values of a head's key or value
};

}  // namespace takt
