// Why no more of a prompt was found in the prefix cache.
#pragma once

#include <cstdint>

namespace takt {

enum class PrefixMiss : std::uint8_t {
  kNone,      // all that can be shared was found: whole blocks, and never the last token
  kOff,       // the cache is off, or the request may not use it
  kUnknown,   // nothing in memory begins with the same block (in this scope)
  kNew,       // what was found ends here: the rest was never computed
  kDiverged,  // what is in memory goes on differently from here
  kEvicted,   // the next block was in memory and had to make room
};
inline constexpr int kPrefixMissCount = 6;
const char* to_string(PrefixMiss miss);

}  // namespace takt
