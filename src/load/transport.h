// Time and a server, as the load generator sees them: sockets and the steady clock in earnest, a script in virtual time
// for tests of the scoring. Everything happens on one thread, inside run_until.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "measure/answer_sample.h"

namespace takt::load {

struct OutgoingRequest {
  std::string method = "POST";
  std::string target;
  std::string body;                                          // JSON; empty for GET
  std::vector<std::pair<std::string, std::string>> headers;  // beside those that every request has
};

struct ResponseHead {
  int status = 0;
  bool event_stream = false;
  std::optional<double> retry_after_seconds;
};

// What one exchange tells. No call comes after on_end, nor after Transport::abandon.
class ExchangeObserver {
 public:
  virtual ~ExchangeObserver() = default;
  virtual void on_head(TimePoint at, const ResponseHead& head) = 0;
  virtual void on_body(TimePoint at, std::string_view bytes) = 0;
  // kNone: the answer ended as HTTP says it should.
  virtual void on_end(TimePoint at, measure::Failure failure, const std::string& detail) = 0;
};

using ExchangeId = std::uint64_t;
using TimerId = std::uint64_t;

class Transport {
 public:
  virtual ~Transport() = default;

  virtual TimePoint now() const = 0;
  // `call` runs at that instant, or as soon as possible after it; never inside call_at.
  virtual TimerId call_at(TimePoint at, std::function<void()> call) = 0;
  virtual void cancel_call(TimerId id) = 0;  // one that ran already: nothing happens

  // Begins at once. `observer` lives until its on_end or until the exchange is abandoned; neither happens inside send.
  virtual ExchangeId send(OutgoingRequest request, ExchangeObserver& observer) = 0;
  // Closes the exchange's connection, which is how a client cancels. One that is over: nothing happens.
  virtual void abandon(ExchangeId id) = 0;

  // Runs calls and exchanges until done() or until nothing is left that could happen. Some that are ready already may
  // come after done().
  virtual void run_until(const std::function<bool()>& done) = 0;
};

// One request and its whole answer, for what happens outside of measuring.
struct PlainAnswer {
  int status = 0;  // 0: there was none
  std::string body;
  measure::Failure failure = measure::Failure::kNone;
  std::string detail;
};
PlainAnswer exchange(Transport& transport, OutgoingRequest request, Duration patience);

}  // namespace takt::load
