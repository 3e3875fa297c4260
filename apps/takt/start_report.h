// What a server tells a person while it starts.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "base/clock.h"
#include "config/server_config.h"
#include "inference_server.h"
#include "servable_model.h"

namespace takt::app {

class StartReport {
 public:
  explicit StartReport(std::FILE* to) : to_(to) {}

  // One line, whatever a file put into it.
  void say(const std::string& line) const;
  // Says which threads there are and why (E5), and returns the number of compute threads.
  int threads(const config::ServerConfig& config) const;
  void models(const std::vector<ServableModel>& models) const;
  // The address, after the targets that this machine cannot meet even idle and where the time of the start went.
  void ready(const config::ServerConfig& config, const InferenceServer& server) const;

 private:
  // Where the time went.
  void times(const InferenceServer& server) const;

  std::FILE* to_;
};

// Progress of loading one model, in bytes (E9).
class LoadReport {
 public:
  LoadReport(std::string name, StartReport say);
  // True when text() has changed; prints at every quarter.
  bool advance(std::uint64_t done, std::uint64_t total);
  const std::string& text() const { return text_; }

 private:
  StartReport say_;
  std::string name_;
  std::string text_;
  int percent_ = 0;
};

}  // namespace takt::app
