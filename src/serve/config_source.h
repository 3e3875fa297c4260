// The configuration as an administrator sees and changes it.
#pragma once

#include <string>

#include "base/result.h"

namespace takt::serve {

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
};

}  // namespace takt::serve
