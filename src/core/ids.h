// Names of things. An id is never reused and never a position in a vector.
#pragma once

#include <cstdint>

#include "base/strong_id.h"

namespace takt {

using TokenId = std::int32_t;

using RequestId = StrongId<struct RequestTag>;
using SequenceId = StrongId<struct SequenceTag>;  // one choice of a request
using StepId = StrongId<struct StepTag>;
using ModelIndex = StrongId<struct ModelTag, std::uint32_t>;
using ClassIndex = StrongId<struct ClassTag, std::uint32_t>;  // a service class (core/service_class.h)
inline constexpr ClassIndex kNoClass{~std::uint32_t{0}};
using GroupId = StrongId<struct GroupTag, std::uint32_t>;  // a KV group: layers that share block geometry and lifetime
using BlockId = StrongId<struct BlockTag, std::uint32_t>;  // a KV block inside a group
using PageId = StrongId<struct PageTag, std::uint32_t>;    // a place in the swap arena

}  // namespace takt
