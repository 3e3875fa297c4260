// Steps for the viewers of Chrome and Perfetto: the Trace Event Format, JSON.
#pragma once

#include <cstdio>
#include <string>

#include "step_history.h"

namespace takt::app {

// Writes the whole trace as it goes; memory does not grow with it. `process`: what the trace calls the engine.
class StepTrace {
 public:
  StepTrace(std::FILE* out, const std::string& process);
  void add(const StepView& step);
  // False when something could not be written.
  bool finish();

 private:
  struct Track {
    StepCell cell;
    TimePoint since;
  };
  void event(const std::string& fields);
  void close(const Track& track, TimePoint at);

  std::FILE* out_;
  bool first_ = true;
  bool good_ = true;
  TimePoint end_;
  std::vector<Track> open_;  // by sequence
};

}  // namespace takt::app
