// Why a sequence ended. Every sequence ends for exactly one reason.
#pragma once

#include <cstdint>

namespace takt {

enum class FinishReason : std::uint8_t {
  kStop,       // an end token, a stop id or a stop string
  kLength,     // max_tokens, the context or the pool
  kCancelled,  // by the client, or a reader too slow
  kExpired,    // waited longer than its class allows
  kFailed,     // an error of ours; the event carries it
};

const char* to_string(FinishReason reason);

}  // namespace takt
