// A server that is to be measured, and runs against it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench_options.h"
#include "load/load_run.h"
#include "load/load_settings.h"
#include "load/server_facts.h"
#include "load/transport.h"
#include "report/run_report.h"

namespace takt::app {

class BenchSession {
 public:
  // Connects, and learns what has to be known of the server. Errors: those of the options and of the server.
  static Result<std::unique_ptr<BenchSession>> open(const BenchOptions& options);

  // Runs a load to its end, or until a stop signal comes. `classes` may grow meanwhile (a trace's).
  struct Plan {
    std::unique_ptr<load::RequestSource> source;
    std::vector<load::ClosedLoad> closed;
    std::vector<load::LoadClass>* classes = nullptr;
    std::optional<double> duration_seconds;
    double warm_up_seconds = 0.0;
    bool sessions_wait = false;
    std::string progress_label;
  };
  Result<report::RunReport> run(Plan plan);

  const load::ServerFacts& server() const { return facts_; }
  load::Transport& transport() { return *transport_; }
  // After they were changed: reports tell those in force.
  void read_settings_again();
  static bool interrupted();

 private:
  BenchSession(BenchOptions options, std::unique_ptr<load::Transport> transport, load::ServerFacts facts);

  load::RunOptions run_options(const Plan& plan) const;
  void note_server(report::RunReport& report) const;
  void note_generator(report::RunReport& report, const load::RunResult& result, double cpu_share) const;

  BenchOptions options_;
  std::unique_ptr<load::Transport> transport_;
  load::ServerFacts facts_;
};

}  // namespace takt::app
