// The configuration as an administrator sees it.
#pragma once

#include <string>

namespace takt::serve {

// Called from any thread.
class ConfigSource {
 public:
  virtual ~ConfigSource() = default;
  // Every option with its value and where that came from, as a JSON object; secrets are counted, not shown.
  virtual std::string effective() const = 0;
};

}  // namespace takt::serve
