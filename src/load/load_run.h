// One run: sends requests at their instants, follows their answers, and gives a sample for each.
//
// Open loads are sent when they are due, whatever the server does; closed loads when the answer before is there.
// Warm-up requests come first and are not measured; behind the measured window the load goes on until the measured
// answers are complete, so that the last ones are not served by an emptying machine.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "load/live_histogram.h"
#include "load/planned_request.h"
#include "load/prompt_text.h"
#include "load/request_body.h"
#include "load/transport.h"
#include "measure/answer_sample.h"

namespace takt::load {

struct RunProgress {
  Duration elapsed{0};
  std::optional<Duration> planned;  // of arrivals, where that is known
  bool warming_up = false;
  bool draining = false;
  std::uint64_t sent = 0;
  std::uint64_t complete = 0;
  std::uint64_t failed = 0;
  std::size_t in_flight = 0;
  std::optional<double> ttft_p50, ttft_p99, itl_p50, itl_p99;  // seconds, of measured requests so far
};

struct RunOptions {
  Duration warm_up{0};
  std::optional<Duration> measured;       // how long measured requests are offered
  std::optional<std::uint64_t> requests;  // how many; whichever comes first
  Duration drain{std::chrono::seconds(60)};
  Duration timeout{std::chrono::minutes(10)};  // of a request
  std::uint32_t limit_concurrency = 0;         // 0: none. Who waits for it waits on the caller's account
  bool honour_retry_after = false;
  bool sessions_wait = false;  // a turn is sent when the one before is answered, and not before its instant
  bool send_labels = false;    // x-takt-class, -app, -tenant, -user
  std::uint32_t overhead = 0;  // tokens that the server adds to a prompt
  RequestForm form;
  std::vector<std::pair<std::string, std::string>> headers;
  std::function<bool()> interrupted;                    // asked a few times a second; may be empty
  std::function<void(const RunProgress&)> on_progress;  // likewise
};

struct RunResult {
  measure::MeasuredRun run;
  bool interrupted = false;
  bool drained_under_load = false;
  bool open_load = true;
  std::uint64_t raised_prompts = 0;  // shorter than what the server adds anyway: sent one token longer than that
  double loop_delay_p99 = 0.0;       // seconds by which the generator's own clock ran late
  double loop_delay_most = 0.0;
  std::optional<Error> source_error;  // the source ended by an error; what came before it counts
};

class LoadRun {
 public:
  // `classes` may grow while the run goes on, by what its source finds. All references outlive the run.
  LoadRun(Transport& transport, const PromptWriter& writer, const std::vector<LoadClass>& classes, RunOptions options);
  ~LoadRun();

  void set_source(std::unique_ptr<RequestSource> source);
  void add_closed(ClosedLoad load);

  // To the end. Once.
  RunResult execute();

 private:
  class Work;
  std::unique_ptr<Work> work_;
};

}  // namespace takt::load
