// What `takt serve` tells a person while it starts, on standard output.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "config/server_config.h"
#include "inference_server.h"
#include "servable_model.h"

namespace takt::app {

// Says which threads there are and why (E5), and returns the number of compute threads.
int report_threads(const config::ServerConfig& config);

// Progress of loading one model, in bytes (E9).
class LoadReport {
 public:
  explicit LoadReport(std::string name);
  // True when text() has changed; prints at every quarter.
  bool advance(std::uint64_t done, std::uint64_t total);
  const std::string& text() const { return text_; }

 private:
  std::string name_;
  std::string text_;
  int percent_ = 0;
};

void report_models(const std::vector<ServableModel>& models);

// The address, and the targets that this machine cannot meet even idle.
void report_ready(const config::ServerConfig& config, const InferenceServer& server);

}  // namespace takt::app
