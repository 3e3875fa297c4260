#include "text/stop_matcher.h"

#include <algorithm>
#include <utility>

namespace takt {
namespace {

// Length of the longest tail of `text` that is a proper prefix of `stop`.
std::size_t held_tail(std::string_view text, std::string_view stop) {
  for (std::size_t length = std::min(text.size(), stop.size() - 1); length > 0; --length) {
    if (text.substr(text.size() - length) == stop.substr(0, length)) return length;
  }
  return 0;
}

}  // namespace

StopMatcher::StopMatcher(std::vector<std::string> stops) : stops_(std::move(stops)) {
  stops_.erase(std::remove_if(stops_.begin(), stops_.end(), [](const std::string& stop) { return stop.empty(); }),
               stops_.end());
}

std::string StopMatcher::push(std::string_view text) {
  if (matched_) return {};
  held_.append(text);

  std::size_t match_begin = std::string::npos;
  const std::string* match = nullptr;
  for (const std::string& stop : stops_) {
    const std::size_t begin = held_.find(stop);
    if (begin == std::string::npos) continue;
    const bool earlier = match == nullptr || begin < match_begin;
    const bool completed_first = match != nullptr && begin == match_begin && stop.size() < match->size();
    if (earlier || completed_first) {
      match_begin = begin;
      match = &stop;
    }
  }
  if (match != nullptr) {
    matched_ = true;
    matched_stop_ = *match;
    std::string released = held_.substr(0, match_begin);
    held_.clear();
    return released;
  }

  std::size_t keep = 0;
  for (const std::string& stop : stops_) keep = std::max(keep, held_tail(held_, stop));
  std::string released = held_.substr(0, held_.size() - keep);
  held_.erase(0, released.size());
  return released;
}

std::string StopMatcher::finish() {
  if (matched_) return {};
  return std::exchange(held_, {});
}

}  // namespace takt
