// What preemption by swap costs the others, and what it saves the victim, on a real model.
//
//   swap MODEL.gguf [--streams N] [--victim TOKENS] [--rounds N] [--swap-path DIR] [--threads N]
//
// Streams decode; a batch sequence with a long prompt decodes beside them. A realtime prompt takes its blocks, gets a
// few tokens and ends, and the victim comes back; so round by round, with and without an arena. Steps with the streams'
// rows alone are compared: those before the victim came and after it went, and those while it is out or comes back. The
// streams' contexts grow meanwhile, so each of the latter is held against the line through the former, over attended
// positions.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/cpu_topology.h"
#include "base/random.h"
#include "engine/engine.h"
#include "exec/cpu/cpu_executor.h"
#include "measure/percentile.h"
#include "swap/open_store.h"

namespace takt {
namespace {

constexpr std::uint64_t kSeed = 0xCADE;
constexpr std::uint32_t kStreamPrompt = 64;
constexpr std::uint32_t kChatOutput = 4;
constexpr std::uint32_t kQuietSteps = 40;
constexpr std::uint32_t kVictimTokens = 4;  // that it gets before it is preempted, and after
constexpr int kMostSteps = 5000;
// Prompt tokens of a step beside streams, at least: says how far the streams grow while the chat's prompt is computed.
constexpr std::uint32_t kChunk = 8;

struct Arguments {
  std::string model;
  std::string directory = ".";
  std::uint32_t streams = 2;
  std::uint32_t victim = 2048;
  std::uint32_t rounds = 2;
  int threads = 0;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return measure::percentile(values, 0.5).value_or(0.0);
}

// Steps with the streams' rows alone.
struct StepTimes {
  std::vector<double> attended;
  std::vector<double> ms;
};

// Of `ms` to the line through the medians of `first` and `last`, at the median.
double median_ratio(const StepTimes& times, const StepTimes& first, const StepTimes& last) {
  const double from = median(first.attended);
  const double slope = (median(last.ms) - median(first.ms)) / std::max(1.0, median(last.attended) - from);
  std::vector<double> ratios;
  for (std::size_t i = 0; i < times.ms.size(); ++i)
    ratios.push_back(times.ms[i] / (median(first.ms) + slope * (times.attended[i] - from)));
  return median(std::move(ratios));
}

// Follows the victim and sorts the others' steps.
class Watch final : public EventSink {
 public:
  Watch(RequestId victim, std::uint32_t streams) : victim_(victim), streams_(streams) {}

  void publish(const std::vector<Event>& events) noexcept override {
    for (const Event& event : events) {
      if (const auto* token = std::get_if<TokenSampled>(&event.what)) note(*token, event.at);
      if (const auto* lost = std::get_if<Preempted>(&event.what)) note(*lost);
      if (const auto* step = std::get_if<StepCommitted>(&event.what)) note(*step);
      if (const auto* closed = std::get_if<Closed>(&event.what)) note(*closed, event.at);
    }
  }
  void chat_is(RequestId chat) { chat_ = chat; }
  void victim_is_gone() { quiet_ = &after; }
  bool is_out() const { return out_; }
  std::uint32_t victim_tokens() const { return victim_tokens_; }

  StepTimes before;                // the victim came
  StepTimes moving;                // while the victim is out or comes back
  StepTimes after;                 // the victim went
  std::vector<double> resumed_ms;  // from the chat's end to the victim's next token; 0 where that came first
  double worst_copy_step_ms = 0.0;
  std::uint32_t swapped = 0;
  std::uint32_t recomputed = 0;
  std::uint64_t tokens = 0;  // sampled

 private:
  void note(const TokenSampled& token, TimePoint at) {
    ++tokens;
    if (token.request != victim_) return;
    ++victim_tokens_;
    if (!out_) return;
    out_ = false;
    resumed_ms.push_back(room_since_ ? to_seconds(at - *room_since_) * 1e3 : 0.0);
  }
  void note(const Preempted& event) {
    if (event.request != victim_) return;
    out_ = true;
    room_since_.reset();
    swapped += event.swapped_tokens;
    recomputed += event.dropped_tokens;
  }
  void note(const StepCommitted& step) {
    const StepFeatures& f = step.plan.features;
    const double ms = to_seconds(step.measured) * 1e3;
    if (f.swapped_blocks > 0) worst_copy_step_ms = std::max(worst_copy_step_ms, ms);
    const bool streams_alone = f.tokens == f.decode_rows && f.decode_rows == streams_;
    if (!streams_alone) return;
    StepTimes& times = out_ ? moving : *quiet_;
    times.attended.push_back(static_cast<double>(f.attended_positions));
    times.ms.push_back(ms);
  }
  // Its blocks are free again.
  void note(const Closed& event, TimePoint at) {
    if (event.request == chat_) room_since_ = at;
  }

  const RequestId victim_;
  const std::uint32_t streams_;
  RequestId chat_;
  StepTimes* quiet_ = &before;
  bool out_ = false;
  std::uint32_t victim_tokens_ = 0;
  std::optional<TimePoint> room_since_;
};

EngineRequest make_request(std::uint64_t id, std::uint32_t prompt, std::uint32_t output, const Engine& engine,
                           TimePoint now) {
  EngineRequest request;
  request.id = RequestId(id);
  const std::uint32_t vocabulary = engine.capabilities().vocab_size;
  for (std::uint32_t i = 0; i < prompt; ++i)
    request.prompt.push_back(static_cast<TokenId>(philox4x32(kSeed + id, i)[0] % (vocabulary - 300) + 300));
  request.max_tokens = output;
  request.arrival = now;
  request.targets.max_queue_wait = std::chrono::hours(10);
  request.sampling.temperature = 0.0F;
  request.use_prefix_cache = false;
  return request;
}

// Of a stream that lasts to the end: three long prompts a round go by.
std::uint32_t stream_tokens(const Arguments& arguments) {
  return kStreamPrompt + 2 * kQuietSteps + (arguments.rounds * 3 + 1) * 2 * arguments.victim / kChunk;
}

// A prompt that takes all the victim has, and leaves the streams what they grow by meanwhile.
std::uint32_t chat_prompt(const Arguments& arguments, const Engine& engine, std::uint32_t victim_tokens) {
  const std::uint32_t block = engine.capabilities().groups[0].block_tokens;
  const std::uint32_t reachable = engine.status().blocks_total - engine.status().blocks_owned + victim_tokens / block;
  // Of each token of the prompt, so much of a token that streams grow by.
  const double share = 1.0 + static_cast<double>(arguments.streams) / kChunk;
  const auto tokens = static_cast<std::uint32_t>(reachable * block / share);
  return std::min(tokens, engine.max_request_tokens() - kChatOutput);
}

struct Mode {
  const char* name;
  PreemptionRule rule;
  bool arena;
  bool file;
};
constexpr Mode kModes[] = {{"recompute", PreemptionRule::kRecompute, false, false},
                           {"swap, memory", PreemptionRule::kSwap, true, false},
                           {"swap, file", PreemptionRule::kSwap, true, true},
                           {"auto, file", PreemptionRule::kAuto, true, true}};

struct Bench {
  SteadyClock clock;
  std::unique_ptr<Watch> watch;
  std::unique_ptr<Engine> engine;
};

Status set_up(const Arguments& arguments, const Mode& mode, Bench& bench) {
  CpuExecutorOptions compute;
  compute.threads = arguments.threads;
  compute.kv_blocks = (arguments.streams * stream_tokens(arguments) + 2 * arguments.victim) / compute.block_tokens;
  auto executor = CpuExecutor::load(arguments.model, compute, bench.clock);
  if (!executor) return executor.error();
  std::unique_ptr<SwapStore> store;
  if (mode.arena) {
    SwapOptions swap;
    if (mode.file) swap.path = arguments.directory;
    swap.bytes = std::size_t{256} << 20;
    const auto& groups = (*executor)->capabilities().groups;
    auto opened = open_swap_store(swap, groups, available_memory_bytes(), bench.clock);
    if (!opened) return opened.error();
    store = std::move(*opened);
    const SwapStoreInfo& info = store->info();
    std::fprintf(stderr, "%s: pages of %zu bytes, %.2f ms out, %.2f ms in\n", info.description.c_str(), info.page_bytes,
                 to_seconds(info.out_time) * 1e3, to_seconds(info.in_time) * 1e3);
  }
  EngineOptions options;
  options.sched.preemption = mode.rule;
  options.sched.batch_min_share = 0.0;  // so that the streams' steps are theirs alone while the chat is there
  bench.watch = std::make_unique<Watch>(RequestId(1), arguments.streams);
  auto engine = Engine::create(std::move(*executor), bench.clock, options, {bench.watch.get()}, nullptr, nullptr,
                               std::move(store));
  if (!engine) return engine.error();
  bench.engine = std::move(*engine);
  return {};
}

Status run(const Arguments& arguments, const Mode& mode) {
  Bench bench;
  if (Status ready = set_up(arguments, mode, bench); !ready) return ready;
  Engine& engine = *bench.engine;
  Watch& watch = *bench.watch;
  const auto step_until = [&](auto condition) {
    for (int i = 0; i < kMostSteps && !condition(); ++i) engine.step();
    return condition()
               ? Status()
               : Status(Error::internal("what should come did not within " + std::to_string(kMostSteps) + " steps"));
  };
  const auto victim_gets = [&](std::uint32_t count) {
    return step_until([&, goal = watch.victim_tokens() + count] { return watch.victim_tokens() >= goal; });
  };
  const std::uint32_t endless = stream_tokens(arguments) - kStreamPrompt;
  for (std::uint64_t id = 2; id < 2 + arguments.streams; ++id) {
    if (Status sent = engine.submit(make_request(id, kStreamPrompt, endless, engine, bench.clock.now())); !sent)
      return sent;
  }
  for (std::uint32_t i = 0; i < kQuietSteps; ++i) engine.step();
  EngineRequest victim = make_request(1, arguments.victim, endless, engine, bench.clock.now());
  victim.labels.tier = Tier::kBatch;
  if (Status sent = engine.submit(std::move(victim)); !sent) return sent;
  const TimePoint start = bench.clock.now();
  const std::uint64_t tokens_before = watch.tokens;
  std::uint64_t prompt_tokens = arguments.victim;
  if (Status got = victim_gets(kVictimTokens); !got) return got;
  for (std::uint32_t round = 0; round < arguments.rounds; ++round) {
    const std::uint64_t id = 100 + round;
    const std::uint32_t prompt = chat_prompt(arguments, engine, arguments.victim);
    watch.chat_is(RequestId(id));
    if (Status sent = engine.submit(make_request(id, prompt, kChatOutput, engine, bench.clock.now())); !sent)
      return sent;
    prompt_tokens += prompt;
    if (Status out = step_until([&] { return watch.is_out(); }); !out) return out;
    if (Status back = step_until([&] { return !watch.is_out(); }); !back) return back;
    if (Status got = victim_gets(kVictimTokens); !got) return got;
  }
  const double seconds = to_seconds(bench.clock.now() - start);
  const double rate = static_cast<double>(prompt_tokens + watch.tokens - tokens_before) / seconds;
  engine.cancel(RequestId(1), CancelCause::kClientGone);
  engine.step();
  watch.victim_is_gone();
  for (std::uint32_t i = 0; i < kQuietSteps; ++i) engine.step();
  std::printf("%-13s %9.2f %9.2f %12.2f %7.3f %12.2f %12.0f %9u %11u %9.1f\n", mode.name, median(watch.before.ms),
              median(watch.after.ms), median(watch.moving.ms), median_ratio(watch.moving, watch.before, watch.after),
              watch.worst_copy_step_ms, median(watch.resumed_ms), watch.swapped, watch.recomputed, rate);
  std::fflush(stdout);
  engine.stop();
  return {};
}

int run_all(const Arguments& arguments) {
  std::printf("%u streams, a victim of %u tokens, %u rounds\n", arguments.streams, arguments.victim, arguments.rounds);
  std::printf("%-13s %9s %9s %12s %7s %12s %12s %9s %11s %9s\n", "", "before ms", "after ms", "preempted ms", "ratio",
              "worst copy ms", "resumed ms", "swapped", "recomputed", "tokens/s");
  for (const Mode& mode : kModes) {
    if (const Status done = run(arguments, mode); !done) {
      std::fprintf(stderr, "%s: %s\n", mode.name, done.error().message.c_str());
      return 1;
    }
  }
  return 0;
}

}  // namespace
}  // namespace takt

int main(int argc, char** argv) {
  CLI::App app("Preemption by swap and by recompute on a real model");
  takt::Arguments arguments;
  app.add_option("model", arguments.model, "GGUF file")->required();
  app.add_option("--streams", arguments.streams, "Realtime streams beside the victim")->check(CLI::Range(1, 64));
  app.add_option("--victim", arguments.victim, "Prompt tokens of the victim")->check(CLI::Range(256, 16384));
  app.add_option("--rounds", arguments.rounds, "Times that it is preempted")->check(CLI::Range(1, 100));
  app.add_option("--swap-path", arguments.directory, "Directory of the arena's file");
  app.add_option("--threads", arguments.threads, "Compute threads; 0: the cores there are");
  CLI11_PARSE(app, argc, argv);
  return takt::run_all(arguments);
}
