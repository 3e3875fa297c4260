// All that is kept of one request of a measured run: what was asked, what came, when, and how it ended.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "measure/goodput.h"

namespace takt::measure {

// Why there is no complete answer, as the caller saw it.
enum class Failure : std::uint8_t {
  kNone,
  kUnresolved,    // no such host
  kNoConnection,  // nobody listens, or no route
  kTls,           // handshake or certificate
  kReset,         // the connection broke before any of the answer
  kTimeout,       // no complete answer within the caller's limit
  kHalfAnswer,    // the connection ended inside the answer
  kNotHttp,       // what came is no HTTP
  kWrongJson,     // an event or a body that is no JSON of an answer
  kErrorEvent,    // an error event after the status line
  kRateLimited,   // 429
  kOverloaded,    // 503
  kHttpStatus,    // any other status that is not 200
  kTooLarge,      // beyond a limit of ours
  kNoTokens,      // complete, and nothing in it
  kUnfinished,    // the run was over before the answer
};
inline constexpr std::size_t kFailureKinds = static_cast<std::size_t>(Failure::kUnfinished) + 1;

// Stable word for JSON and tables, e.g. "rate_limited".
const char* to_string(Failure failure);

struct AnswerSample {
  RequestRecord record;
  std::vector<Duration> gaps;  // every ITL, in order
  Failure failure = Failure::kNone;
  std::uint16_t status = 0;  // of HTTP; 0: none came
  std::string detail;        // the first words of an error; bounded

  std::uint64_t number = 0;  // in the order in which requests were planned
  std::uint32_t class_index = 0;
  std::uint32_t application_index = 0;
  bool measured = true;  // false: warm-up and drain

  std::uint32_t prompt_asked = 0;  // tokens
  std::uint32_t output_asked = 0;
  std::optional<std::uint32_t> prompt_tokens;  // as the server counted them
  std::optional<std::uint32_t> output_tokens;
  std::optional<std::uint32_t> cached_tokens;
  std::optional<std::uint32_t> preemptions;
  std::optional<Duration> queue;  // as the server tells it
  Duration lag{0};                // sent later than it could have been
  std::uint32_t retries = 0;      // after a Retry-After that was honoured
};

// A run as it was measured. `begin` to `end` is the window in which measured requests were offered.
struct MeasuredRun {
  std::vector<AnswerSample> samples;  // in the order of their scheduled instants
  std::vector<std::string> classes;
  std::vector<std::string> applications;
  TimePoint begin;
  TimePoint end;
};

}  // namespace takt::measure
