// Server-sent events out of a byte stream (WHATWG HTML, section 9.2): the data of each event, comments left out.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace takt::app {

class SseReader {
 public:
  // The data of the events that these bytes complete. Errors: kResourceExhausted, when an event grows beyond
  // kMaxEventBytes.
  Result<std::vector<std::string>> push(std::string_view bytes);

  static constexpr std::size_t kMaxEventBytes = 1024 * 1024;

 private:
  void take_line(std::string_view line, std::vector<std::string>& events);

  std::string line_;
  std::string data_;
  bool has_data_ = false;
};

}  // namespace takt::app
