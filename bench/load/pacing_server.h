// A server that streams tokens at a steady pace and notes when each left: what a load generator's instants are held
// against. It costs little beyond the kernel's part of a send, so that it is not what limits the generator.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/clock.h"

namespace takt::bench {

struct Pace {
  std::uint32_t tokens = 500;
  Duration gap{std::chrono::milliseconds(10)};
};

class PacingServer {
 public:
  explicit PacingServer(Pace pace);
  ~PacingServer();

  std::uint16_t port() const;

  struct Log {
    // For each request, by its max_tokens: the instants at which its tokens left.
    std::unordered_map<std::uint32_t, std::vector<TimePoint>> left;
    double cpu_seconds = 0.0;  // of its thread
  };
  // Ends it.
  Log stop();

 private:
  class Work;
  std::unique_ptr<Work> work_;
};

}  // namespace takt::bench
