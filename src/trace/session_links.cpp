#include "trace/session_links.h"

namespace takt::trace {

SessionLinks::Link SessionLinks::begin_turn(const std::string& session, RequestId request, TimePoint arrival) {
  const auto known = by_name_.find(session);
  if (known != by_name_.end()) {
    sessions_.splice(sessions_.begin(), sessions_, known->second);
  } else {
    if (sessions_.size() >= most_) {
      by_name_.erase(sessions_.back().name);
      sessions_.pop_back();
    }
    sessions_.push_front({session, 0, 0, {}});
    by_name_[session] = sessions_.begin();
  }
  Session& current = sessions_.front();
  Link link;
  link.turn = current.turns++;
  if (link.turn > 0) link.parent = current.last;
  if (current.last_end) link.think_time = arrival - *current.last_end;
  current.last = request.value;
  current.last_end.reset();
  return link;
}

void SessionLinks::end_turn(const std::string& session, RequestId request, TimePoint end) {
  const auto known = by_name_.find(session);
  if (known != by_name_.end() && known->second->last == request.value) known->second->last_end = end;
}

}  // namespace takt::trace
