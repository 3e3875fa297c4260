// What continuous batching brings on this machine: one burst of requests of mixed answer lengths, run through the whole
// engine on a real model in several modes of batching.
//
//   batching MODEL.gguf [--requests N] [--caps 32,128,384] [--threads N]
//
// Prompts of 128 tokens; answers' lengths exponential with mean 32, drawn again above the cap. The KV budget is the
// same in all modes. Three effects apart: joining, no padding, paging.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "command_line.h"
#include "engine/engine.h"
#include "exec/cpu/cpu_executor.h"

namespace takt {
namespace {

constexpr std::uint32_t kPromptTokens = 128;
constexpr double kMeanOutput = 32.0;
constexpr std::uint64_t kSeed = 0xCADE;

// The length mix of "How continuous batching enables 23x throughput in LLM inference" (2023), divided by four.
struct Load {
  std::uint32_t cap;
  std::uint32_t kv_tokens;
  std::uint32_t static_batch;
};
constexpr Load kLoads[] = {{8, 2175, 16}, {32, 1875, 12}, {128, 2025, 8}, {384, 2025, 4}};

struct Mode {
  const char* name;
  void (*apply)(SchedulerOptions&, const Load&);
};

void static_tight(SchedulerOptions& sched, const Load& load) {
  sched.join = JoinRule::kWhenEmpty;
  sched.prefill = PrefillRule::kWhole;
  sched.max_sequences = load.static_batch;
}
const Mode kModes[] = {
    {"static, padded",
     [](SchedulerOptions& sched, const Load& load) {
       static_tight(sched, load);
       sched.padding = true;
       sched.leave = LeaveRule::kWithBatch;
     }},
    {"static", static_tight},
    {"joining, same seats", [](SchedulerOptions& sched, const Load& load) { sched.max_sequences = load.static_batch; }},
    {"joining, reserve", [](SchedulerOptions& sched, const Load&) { sched.reserve = KvReserve::kWorstCase; }},
    {"joining, paged", [](SchedulerOptions&, const Load&) {}},
};

// Counts what left and how full the seats were.
class Tally final : public EventSink {
 public:
  void publish(const std::vector<Event>& events) noexcept override {
    for (const Event& event : events) {
      if (std::holds_alternative<TokenSampled>(event.what)) ++output_tokens;
      if (const auto* finished = std::get_if<ChoiceFinished>(&event.what))
        failed += finished->reason == FinishReason::kFailed ? 1 : 0;
      if (const auto* preempted = std::get_if<Preempted>(&event.what)) recomputed += preempted->dropped_tokens;
      if (const auto* step = std::get_if<StepCommitted>(&event.what)) {
        ++steps;
        rows += step->plan.features.decode_rows;
        most_running = std::max(most_running, step->running);
      }
    }
  }
  std::uint64_t output_tokens = 0;
  std::uint64_t failed = 0;
  std::uint64_t recomputed = 0;
  std::uint64_t steps = 0;
  std::uint64_t rows = 0;
  std::uint32_t most_running = 0;
};

struct Arguments {
  std::string model;
  std::uint32_t requests = 60;
  std::vector<std::uint32_t> caps = {32, 128};
  int threads = 0;
};

std::vector<std::uint32_t> answer_lengths(std::uint32_t count, std::uint32_t cap) {
  std::vector<std::uint32_t> lengths;
  for (std::uint64_t draw = 0; lengths.size() < count; ++draw) {
    const auto length = static_cast<std::uint32_t>(std::ceil(-kMeanOutput * std::log1p(-uniform01(kSeed, draw))));
    if (length >= 1 && length <= cap) lengths.push_back(length);
  }
  return lengths;
}

EngineRequest make_request(std::uint64_t id, std::uint32_t output, std::uint32_t vocabulary, TimePoint now) {
  EngineRequest request;
  request.id = RequestId(id);
  for (std::uint32_t i = 0; i < kPromptTokens; ++i)
    request.prompt.push_back(static_cast<TokenId>(philox4x32(kSeed + id, i)[0] % (vocabulary - 300) + 300));
  request.max_tokens = output;
  request.arrival = now;
  request.targets.max_queue_wait = std::chrono::hours(10);
  request.sampling.temperature = 0.0F;
  request.use_prefix_cache = false;
  return request;
}

// Tokens per second, prompt and output; negative on failure.
double run(const Arguments& arguments, const Load& load, const Mode& mode, double baseline) {
  SteadyClock clock;
  CpuExecutorOptions compute;
  compute.threads = arguments.threads;
  compute.kv_blocks = load.kv_tokens / compute.block_tokens;
  compute.max_step_tokens = 2048;
  compute.max_context_tokens = 1024;
  auto executor = CpuExecutor::load(arguments.model, compute, clock);
  if (!executor) {
    std::fprintf(stderr, "%s\n", executor.error().message.c_str());
    return -1;
  }
  const std::uint32_t vocabulary = (*executor)->capabilities().vocab_size;
  EngineOptions options;
  mode.apply(options.sched, load);
  options.realtime.max_waiting = 1 << 20;
  options.realtime.max_waiting_tokens = 1 << 30;
  Tally tally;
  auto engine = Engine::create(std::move(*executor), clock, options, {&tally});
  if (!engine) {
    std::fprintf(stderr, "%s\n", engine.error().message.c_str());
    return -1;
  }
  std::uint64_t id = 0;
  const TimePoint start = clock.now();
  for (const std::uint32_t length : answer_lengths(arguments.requests, load.cap)) {
    if (const Status sent = (*engine)->submit(make_request(++id, length, vocabulary, start)); !sent.ok()) {
      std::fprintf(stderr, "%s\n", sent.error().message.c_str());
      return -1;
    }
  }
  while (!(*engine)->idle()) (*engine)->step();
  const double seconds = to_seconds(clock.now() - start);
  const double rate = (arguments.requests * double{kPromptTokens} + static_cast<double>(tally.output_tokens)) / seconds;
  std::printf("%5u  %-20s %8.1f %10.1f %9.2f %8u %10.1f %12llu\n", load.cap, mode.name, seconds, rate,
              baseline > 0 ? rate / baseline : 1.0, tally.most_running,
              static_cast<double>(tally.rows) / static_cast<double>(std::max<std::uint64_t>(1, tally.steps)),
              static_cast<unsigned long long>(tally.recomputed));
  std::fflush(stdout);
  return tally.failed == 0 ? rate : -1;
}

int run_all(const Arguments& arguments) {
  std::printf("%u requests, prompts of %u tokens, mean output %.0f\n", arguments.requests, kPromptTokens, kMeanOutput);
  std::printf("%5s  %-20s %8s %10s %9s %8s %10s %12s\n", "cap", "mode", "seconds", "tokens/s", "x static", "most run",
              "rows/step", "recomputed");
  for (const Load& load : kLoads) {
    if (std::find(arguments.caps.begin(), arguments.caps.end(), load.cap) == arguments.caps.end()) continue;
    double baseline = 0;
    for (const Mode& mode : kModes) {
      const double rate = run(arguments, load, mode, baseline);
      if (rate < 0) return 1;
      if (baseline == 0) baseline = rate;
    }
  }
  return 0;
}

}  // namespace
}  // namespace takt

int main(int argc, char** argv) {
  takt::bench::CommandLine line("Static against continuous batching on a real model");
  takt::Arguments arguments;
  line.required("model", arguments.model, "GGUF file");
  line.number("--requests", arguments.requests, "Requests of the burst", {1, 100'000});
  line.numbers("--caps", arguments.caps, "Longest answers: of 8, 32, 128, 384");
  line.number("--threads", arguments.threads, "Compute threads; 0: the cores there are");
  if (const auto code = line.parse(argc, argv)) return *code;
  return takt::run_all(arguments);
}
