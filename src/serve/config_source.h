// The configuration as an administrator sees and changes it.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace takt::serve {

struct ConfigState {
  std::uint64_t generation = 1;       // grows with every change that was applied
  bool last_change_applied = true;    // false: it was refused, and the one before holds
  std::int64_t last_change_unix = 0;  // seconds since 1970; before any change, of the start
};

// Called from any thread.
class ConfigSource {
 public:
  virtual ~ConfigSource() = default;
  // Every option with its value and where that came from, as a JSON object; secrets are counted, not shown.
  virtual std::string effective() const = 0;
  // Changes options while the server runs: `body` is a JSON object or TOML. All of it holds, or nothing. The answer
  // says what changed, as a JSON object. Errors: kInvalidArgument (wrong, or contradicts another), kUnsupported (needs
  // a restart); field = the key.
  virtual Result<std::string> change(const std::string& body) = 0;
  virtual ConfigState state() const = 0;
};

}  // namespace takt::serve
