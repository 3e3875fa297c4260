#include "http/connection_table.h"

#include <algorithm>
#include <chrono>

namespace takt::http {
namespace {

// Connections over the limit that are being told so at one time.
constexpr std::size_t kRefusalsAtOnce = 64;
// Waits are cut to what any clock can add.
constexpr Duration kLongestWait = std::chrono::hours(24 * 365);

}  // namespace

ConnectionTable::Verdict ConnectionTable::enter(const std::shared_ptr<Session>& session, const std::string& peer) {
  std::lock_guard lock(mutex_);
  if (closed_ || entries_.size() - admitted_ >= kRefusalsAtOnce) return Verdict::kTurnedAway;
  Verdict verdict = Verdict::kAdmitted;
  if (admitted_ >= limit_) {
    verdict = Verdict::kFull;
  } else if (const auto found = admitted_by_peer_.find(peer);
             found != admitted_by_peer_.end() && found->second >= limit_per_peer_) {
    verdict = Verdict::kPeerFull;
  }
  const bool admitted = verdict == Verdict::kAdmitted;
  entries_.emplace(session.get(), Entry{session, peer, admitted});
  if (admitted) {
    ++admitted_;
    ++admitted_by_peer_[peer];
  }
  return verdict;
}

void ConnectionTable::leave(Session* session) {
  std::lock_guard lock(mutex_);
  const auto found = entries_.find(session);
  if (found == entries_.end()) return;
  if (found->second.admitted) {
    --admitted_;
    const auto count = admitted_by_peer_.find(found->second.peer);
    if (--count->second == 0) admitted_by_peer_.erase(count);
  }
  entries_.erase(found);
}

void ConnectionTable::close() {
  std::lock_guard lock(mutex_);
  closed_ = true;
}

std::vector<std::shared_ptr<Session>> ConnectionTable::all() const {
  std::vector<std::shared_ptr<Session>> sessions;
  std::lock_guard lock(mutex_);
  sessions.reserve(entries_.size());
  for (const auto& [key, entry] : entries_) {
    if (auto session = entry.session.lock()) sessions.push_back(std::move(session));
  }
  return sessions;
}

std::size_t ConnectionTable::size() const {
  std::lock_guard lock(mutex_);
  return entries_.size();
}

void ConnectionTable::work_began() {
  std::lock_guard lock(mutex_);
  ++working_;
}

void ConnectionTable::work_ended() {
  {
    std::lock_guard lock(mutex_);
    if (--working_ > 0) return;
  }
  idle_.notify_all();
}

std::size_t ConnectionTable::working() const {
  std::lock_guard lock(mutex_);
  return working_;
}

bool ConnectionTable::wait_idle(Duration wait) {
  std::unique_lock lock(mutex_);
  return idle_.wait_for(lock, std::min(wait, kLongestWait), [&] { return working_ == 0; });
}

}  // namespace takt::http
