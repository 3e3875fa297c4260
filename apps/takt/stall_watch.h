// Says what everybody waits for: in the log when a model stops making progress, and on SIGUSR1.
#pragma once

#include <string>
#include <vector>

#include "engine/status.h"
#include "inference_server.h"

namespace takt::app {

// A line on the step and one per sequence, with its phase, reason and time without progress. No prompts.
std::vector<std::string> stall_dump(const std::string& model, const StallReport& report);

class StallWatch {
 public:
  // From here on SIGUSR1 asks for the dump of every model. Process-wide by nature.
  explicit StallWatch(const InferenceServer& server);

  // Looks once; to be called every second or so. Logs the dump of a model that has stopped (once), that it goes on
  // again, and what SIGUSR1 asked for.
  void look();

 private:
  void log_dump(std::size_t model) const;

  const InferenceServer& server_;
  std::vector<bool> was_ready_;
  int dumps_asked_for_ = 0;
};

}  // namespace takt::app
