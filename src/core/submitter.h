// The door to the engine, seen from the text side. Safe to call from any thread.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "core/ids.h"
#include "core/request.h"

namespace takt {

enum class CancelCause : std::uint8_t {
  kClientGone,  // the connection closed, or an explicit cancel
  kSlowReader,  // the client does not read
  kShutdown,    // the drain period is over
};

class Submitter {
 public:
  virtual ~Submitter() = default;

  // Where a request would wait.
  struct Place {
    Tier tier = Tier::kRealtime;
    ClassIndex service_class = kNoClass;
  };
  // Cheap test before a prompt is tokenised: would a request of about this size be refused because the queue is full or
  // the server drains?
  virtual Status check_room(const Place& place, std::uint64_t estimated_prompt_tokens, std::uint32_t choices) const = 0;

  // Accepted (events follow), or refused at the door with the reason: kUnavailable (queue full, draining, not ready),
  // kContextLength (can never fit the context), kInvalidArgument (can never fit the pool, token out of the vocabulary).
  // A refused request produces no event.
  virtual Status submit(EngineRequest request) = 0;

  virtual void cancel(RequestId request, CancelCause cause) = 0;
  virtual void finish_choice(RequestId request, std::uint32_t choice) = 0;  // a stop string was found in this choice
};

}  // namespace takt
