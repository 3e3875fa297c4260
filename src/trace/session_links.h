// Turns of conversations, by the sessions that callers name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/clock.h"
#include "core/ids.h"

namespace takt::trace {

// Keeps the sessions that spoke last, so many at most.
class SessionLinks {
 public:
  explicit SessionLinks(std::size_t most = 100'000) : most_(most) {}

  struct Link {
    std::uint32_t turn = 0;
    std::optional<std::uint64_t> parent;
    std::optional<Duration> think_time;  // since the parent's end; empty while it runs
  };
  Link begin_turn(const std::string& session, RequestId request, TimePoint arrival);
  void end_turn(const std::string& session, RequestId request, TimePoint end);

 private:
  struct Session {
    std::string name;
    std::uint32_t turns = 0;
    std::uint64_t last = 0;
    std::optional<TimePoint> last_end;
  };

  const std::size_t most_;
  std::list<Session> sessions_;  // the last one to speak first
  std::unordered_map<std::string, std::list<Session>::iterator> by_name_;
};

}  // namespace takt::trace
