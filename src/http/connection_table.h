// The open connections: counted in all and per peer, found again to drain or stop them.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"

namespace takt::http {

class Session;

class ConnectionTable {
 public:
  ConnectionTable(std::size_t limit, std::size_t limit_per_peer) : limit_(limit), limit_per_peer_(limit_per_peer) {}

  enum class Verdict {
    kAdmitted,
    kFull,        // over the limit, but known here, so that it can be told so
    kPeerFull,    // likewise
    kTurnedAway,  // stopped, or too many are being told so already: not known here, close it
  };
  Verdict enter(const std::shared_ptr<Session>& session, const std::string& peer);
  void leave(Session* session);

  // Later enter() calls are turned away.
  void close();
  std::vector<std::shared_ptr<Session>> all() const;
  std::size_t size() const;

  // A request is read or answered.
  void work_began();
  void work_ended();
  std::size_t working() const;
  // False when work is still there after `wait`.
  bool wait_idle(Duration wait);

 private:
  struct Entry {
    std::weak_ptr<Session> session;
    std::string peer;
    bool admitted = false;
  };

  const std::size_t limit_;
  const std::size_t limit_per_peer_;
  mutable std::mutex mutex_;
  std::condition_variable idle_;
  std::unordered_map<Session*, Entry> entries_;
  std::unordered_map<std::string, std::size_t> admitted_by_peer_;
  std::size_t admitted_ = 0;
  std::size_t working_ = 0;
  bool closed_ = false;
};

}  // namespace takt::http
