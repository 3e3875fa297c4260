// Settings of capturing.
#pragma once

#include <cstdint>
#include <string>

namespace takt::trace {

struct CaptureOptions {
  std::string folder;                                     // empty: off
  std::uint32_t days = 7;                                 // a segment that is older is deleted
  std::uint64_t segment_bytes = std::uint64_t{64} << 20;  // a segment that is larger is closed
  std::uint64_t total_bytes = std::uint64_t{4} << 30;     // the oldest segments beyond are deleted
  bool text = false;                                      // prompts and answers too
};

}  // namespace takt::trace
