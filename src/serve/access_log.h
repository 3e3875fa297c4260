// One line in the log for each request for an answer, whatever became of it. Never its text, and never its user.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "api/api_error.h"
#include "base/clock.h"
#include "core/ids.h"
#include "core/request.h"
#include "serve/exchange.h"

namespace takt::serve {

struct AccessEntry {
  RequestId id;
  RequestLabels labels;
  const char* outcome = "answered";  // answered, refused, failed, client_gone, slow_reader
  std::uint64_t prompt_tokens = 0;
  std::uint64_t cached_tokens = 0;
  std::uint64_t output_tokens = 0;
  std::optional<Duration> queue;  // from arrival to admission
  std::optional<Duration> ttft;   // from arrival to the first token
  Duration total{0};
  std::string code;  // of the error; empty where there was none
};

// "access id=... class=... outcome=... prompt_tokens=..." at level info. What is not known is "-".
void log_access(const AccessEntry& entry);

// refused or failed: whose fault the error is.
const char* outcome_of(const api::ApiError& error);
// Of a request that never became an answer.
void log_refusal(const Exchange& exchange, const RequestLabels& labels, const api::ApiError& error, TimePoint now);

}  // namespace takt::serve
