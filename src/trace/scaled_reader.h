// A trace played faster or slower, and with more or fewer requests, in its own shape.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "trace/reader.h"

namespace takt::trace {

struct ScaleOptions {
  double speed = 1.0;  // of time: at 2 every instant, gap and think time is half of what it was
  double scale = 1.0;  // of the number of requests on the same time line
  std::uint64_t seed = 0;
};
inline constexpr double kMostScale = 1000.0;

// Instants count from the first request: it arrives at 0. The reader is in order of arrival (sorted_reader.h), and so
// is the result.
//
// Scale below 1: whole sessions (or single requests, without one) are left out, each by a draw of its own. Above 1:
// each is there floor(scale) times, and once more by a draw. A copy arrives somewhere between its original and the next
// request of the trace, so that lulls and bursts stay where they are, and is another conversation of the same kind: its
// session, its parent and its prefix are its own (copies of the same number share prefixes as the originals do), and so
// cache hits keep their share. Its tenant and user are the original's.
//
// Its counts are the trace's; Record::timings stay as they were measured. Errors: kInvalidArgument: speed or scale is
// not above 0, or above kMostScale.
Result<std::unique_ptr<Reader>> scaled(std::unique_ptr<Reader> reader, const ScaleOptions& options);

}  // namespace takt::trace
