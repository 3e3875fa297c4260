#include "measure/answer_sample.h"

#include <array>

namespace takt::measure {

const char* to_string(Failure failure) {
  static constexpr std::array<const char*, kFailureKinds> kNames{
      "none",        "unresolved", "no_connection", "tls",         "reset",        "timeout",
      "half_answer", "not_http",   "wrong_json",    "error_event", "rate_limited", "overloaded",
      "http_status", "too_large",  "no_tokens",     "unfinished"};
  return kNames[static_cast<std::size_t>(failure)];
}

}  // namespace takt::measure
