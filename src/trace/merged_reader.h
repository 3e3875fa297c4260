// Several traces as one.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "trace/reader.h"

namespace takt::trace {

enum class Align : std::uint8_t {
  kStart,  // their origins fall together
  kWall,   // by the clock on the wall; the earliest origin is the origin
};

// In order of arrival; the readers must be (sorted_reader.h). Sessions of different traces stay apart. Errors:
// kInvalidArgument: no reader; kWall, and one has no wall clock; one has no instants.
Result<std::unique_ptr<Reader>> merged(std::vector<std::unique_ptr<Reader>> readers, Align align);

}  // namespace takt::trace
