// What the server shows of the parts that it does not know.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "core/ids.h"
#include "core/request.h"

namespace takt::serve {

struct Readiness {
  bool ready = false;
  std::string reason;  // why not
};

struct MetricsPage {
  std::string content_type;
  std::string body;
};

enum class WhichRequests : std::uint8_t {
  kSlowest,  // alive or not, those that took longest first
  kAlive,    // the oldest first
};

// Called from any thread.
class StatusSource {
 public:
  virtual ~StatusSource() = default;
  virtual Readiness readiness() const = 0;
  // `open_metrics`: as OpenMetrics text, else as Prometheus text.
  virtual MetricsPage metrics(bool open_metrics) const = 0;
  // The life of one request as JSON; empty when it is not known (any more).
  virtual std::optional<std::string> request_json(RequestId request) const = 0;
  virtual std::string requests_json(WhichRequests which, std::size_t most) const = 0;
  // A generation request that ended before an engine accepted it, so that no event tells of it.
  virtual void count_refusal(const RequestLabels& labels, ErrorCode reason) = 0;
};

}  // namespace takt::serve
