// Server-sent events out of a byte stream (WHATWG HTML, section 9.2): the data of each event, comments left out.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace takt::api {

class SseReader {
 public:
  // Calls on_event with the data of each event that these bytes complete; the view holds during the call. Errors:
  // kResourceExhausted, when an event grows beyond kMaxEventBytes; what on_event returns, which ends the reading.
  Status push(std::string_view bytes, const std::function<Status(std::string_view)>& on_event);

  static constexpr std::size_t kMaxEventBytes = 1024 * 1024;

 private:
  Status take_line(std::string_view line, const std::function<Status(std::string_view)>& on_event);

  std::string line_;  // begun in an earlier piece
  std::string data_;
  bool has_data_ = false;
};

}  // namespace takt::api
