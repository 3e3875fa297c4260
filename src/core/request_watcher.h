// Who wants to know of every request for an answer, also of those that no engine accepts and no event tells of.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "core/ids.h"
#include "core/request.h"

namespace takt {

// What a caller said of a request besides its labels; empty where it said nothing.
struct RequestHints {
  std::string_view model;
  std::string_view task;
  std::string_view session;
  bool stream = false;
  std::optional<std::uint32_t> max_tokens;  // as asked for
};

// Just before it goes to an engine; its events follow. Valid during the call.
struct OfferedRequest {
  const EngineRequest& request;
  RequestHints hints;
  // Of its prompt's and its answer's tokens; may be kept for the request's life.
  std::function<std::string(std::span<const TokenId> tokens)> text_of;
};

// It ended before an engine accepted it. Valid during the call.
struct RefusedRequest {
  RequestId id;  // 0: it was refused before it had one; of an offered one: that one's
  TimePoint arrival;
  const RequestLabels& labels;
  ErrorCode reason = ErrorCode::kInternal;
  RequestHints hints;
  std::uint64_t prompt_bytes = 0;  // 0: not known
};

// Called from any thread.
class RequestWatcher {
 public:
  virtual ~RequestWatcher() = default;
  virtual void offered(const OfferedRequest& request) noexcept = 0;
  virtual void refused(const RefusedRequest& request) noexcept = 0;
};

}  // namespace takt
