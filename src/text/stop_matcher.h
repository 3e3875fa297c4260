// Finds stop strings in a stream of text. Holds back only a tail that is a proper prefix of some stop string.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace takt {

class StopMatcher {
 public:
  explicit StopMatcher(std::vector<std::string> stops);  // empty ones are ignored

  // The text that may be sent now. Once a stop string is complete, matched() is true, nothing of it has been or will be
  // released, and later calls return nothing. The earliest match in the text wins; of two that begin at the same place,
  // the one completed first.
  std::string push(std::string_view text);
  // What was held back, at the end of a stream that did not match.
  std::string finish();
  bool matched() const { return matched_; }
  const std::string& matched_stop() const { return matched_stop_; }

 private:
  std::vector<std::string> stops_;
  std::string held_;
  std::string matched_stop_;
  bool matched_ = false;
};

}  // namespace takt
