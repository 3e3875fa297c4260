// What preemption by swap costs the others, and what it saves the victim, on a real model.
//
//   swap MODEL.gguf [--streams N] [--victim TOKENS] [--rounds N] [--swap-path DIR] [--threads N] [--only WORD]
//
// Streams decode, each followed by another when it ends; a batch sequence with a long prompt decodes beside them. A
// realtime prompt takes its blocks, gets a few tokens and ends, and the victim comes back; so round by round, with and
// without an arena. Steps with the streams' rows alone are compared: those without any victim, before it came and after
// it went, and those while it is out or comes back, each held against the line through the former over attended
// positions.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/cpu_topology.h"
#include "base/random.h"
#include "command_line.h"
#include "engine/engine.h"
#include "exec/cpu/cpu_executor.h"
#include "measure/percentile.h"
#include "swap/open_store.h"

namespace takt {
namespace {

constexpr std::uint64_t kSeed = 0xCADE;
constexpr std::uint32_t kStreamPrompt = 64;
constexpr std::uint32_t kChatOutput = 4;
constexpr std::uint32_t kStreamOutput = 400;
constexpr std::uint32_t kQuietSteps = 500;    // before the victim comes, and after it went
constexpr std::uint32_t kVictimTokens = 4;    // that it gets before it is preempted, and after
constexpr std::uint32_t kVictimOutput = 400;  // more than it gets
constexpr double kPoolOfVictim = 1.25;        // blocks beside the streams', in the victim's
constexpr std::uint64_t kFirstStream = 1000;  // identifiers from here on are streams'
constexpr int kMostSteps = 5000;

struct Arguments {
  std::string model;
  std::string directory = ".";
  std::string only;
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

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) /
         static_cast<double>(std::max<std::size_t>(1, values.size()));
}

// Median of `times` in parts of what the least-squares line through `quiet` says for their contexts.
double median_ratio(const StepTimes& times, const StepTimes& quiet) {
  const double attended = mean(quiet.attended);
  const double ms = mean(quiet.ms);
  double products = 0.0;
  double squares = 0.0;
  for (std::size_t i = 0; i < quiet.ms.size(); ++i) {
    const double x = quiet.attended[i] - attended;
    products += x * (quiet.ms[i] - ms);
    squares += x * x;
  }
  const double slope = squares > 0.0 ? products / squares : 0.0;
  std::vector<double> ratios;
  for (std::size_t i = 0; i < times.ms.size(); ++i)
    ratios.push_back(times.ms[i] / (ms + slope * (times.attended[i] - attended)));
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
      if (const auto* taken = std::get_if<TailTaken>(&event.what)) note(*taken);
      if (const auto* step = std::get_if<StepCommitted>(&event.what)) note(*step);
      if (const auto* closed = std::get_if<Closed>(&event.what)) note(*closed, event.at);
    }
  }
  void chat_is(RequestId chat) { chat_ = chat; }
  void victim_comes() { victim_is_here_ = true; }
  void victim_went() { victim_is_here_ = false; }
  // Streams that ended since the last call.
  std::uint32_t take_ended() { return std::exchange(ended_, 0); }
  bool is_out() const { return out_; }
  std::uint32_t victim_tokens() const { return victim_tokens_; }

  StepTimes quiet;                 // without a victim
  StepTimes moving;                // while the victim is out or comes back
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
  // More of it, while it is out.
  void note(const TailTaken& event) {
    if (event.request != victim_) return;
    swapped += event.swapped_tokens;
    recomputed += event.dropped_tokens;
  }
  void note(const StepCommitted& step) {
    const StepFeatures& f = step.plan.features;
    const double ms = to_seconds(step.measured) * 1e3;
    if (f.swapped_blocks > 0) worst_copy_step_ms = std::max(worst_copy_step_ms, ms);
    const bool streams_alone = f.tokens == f.decode_rows && f.decode_rows == streams_;
    if (!streams_alone || (victim_is_here_ && !out_)) return;
    StepTimes& times = out_ ? moving : quiet;
    times.attended.push_back(static_cast<double>(f.attended_positions));
    times.ms.push_back(ms);
  }
  void note(const Closed& event, TimePoint at) {
    if (event.request == chat_) room_since_ = at;  // its blocks are free again
    ended_ += event.request >= RequestId(kFirstStream) ? 1 : 0;
  }

  const RequestId victim_;
  const std::uint32_t streams_;
  RequestId chat_;
  bool victim_is_here_ = false;
  bool out_ = false;
  std::uint32_t ended_ = 0;
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

// A prompt that takes all the victim has, and leaves the streams what they may grow by.
std::uint32_t chat_prompt(const Arguments& arguments, const Engine& engine) {
  const std::uint32_t block = engine.capabilities().groups[0].block_tokens;
  const std::uint32_t streams = arguments.streams * (kStreamPrompt + kStreamOutput + block);
  const std::uint32_t all = engine.status().blocks_total * block;
  return std::min(all - std::min(all, streams + kChatOutput), engine.max_request_tokens() - kChatOutput);
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
  std::uint64_t next_stream = kFirstStream;

  Status start_streams(std::uint32_t count) {
    for (; count > 0; --count) {
      Status sent = engine->submit(make_request(next_stream++, kStreamPrompt, kStreamOutput, *engine, clock.now()));
      if (!sent) return sent;
    }
    return {};
  }
  Status step() {
    engine->step();
    return start_streams(watch->take_ended());
  }
  Status steps(std::uint32_t count) {
    Status done;
    for (; count > 0 && done; --count) done = step();
    return done;
  }
  template <typename Condition>
  Status step_until(Condition condition) {
    Status done;
    for (int i = 0; i < kMostSteps && done && !condition(); ++i) done = step();
    if (!done || condition()) return done;
    return Error::internal("what should come did not within " + std::to_string(kMostSteps) + " steps");
  }
  Status victim_gets(std::uint32_t count) {
    return step_until([&, goal = watch->victim_tokens() + count] { return watch->victim_tokens() >= goal; });
  }
};

Status set_up(const Arguments& arguments, const Mode& mode, Bench& bench) {
  CpuExecutorOptions compute;
  compute.threads = arguments.threads;
  const std::uint32_t streams = arguments.streams * (kStreamPrompt + kStreamOutput + compute.block_tokens);
  compute.kv_blocks = (streams + static_cast<std::uint32_t>(kPoolOfVictim * arguments.victim)) / compute.block_tokens;
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

// The victim is preempted for a chat and comes back, as often as there are rounds; prompt tokens computed for chats.
Result<std::uint64_t> preempt_and_resume(const Arguments& arguments, Bench& bench) {
  Watch& watch = *bench.watch;
  std::uint64_t prompt_tokens = 0;
  for (std::uint32_t round = 0; round < arguments.rounds; ++round) {
    const std::uint64_t id = 100 + round;
    const std::uint32_t prompt = chat_prompt(arguments, *bench.engine);
    watch.chat_is(RequestId(id));
    if (Status sent = bench.engine->submit(make_request(id, prompt, kChatOutput, *bench.engine, bench.clock.now()));
        !sent)
      return sent.error();
    prompt_tokens += prompt;
    if (Status out = bench.step_until([&] { return watch.is_out(); }); !out) return out.error();
    if (Status back = bench.step_until([&] { return !watch.is_out(); }); !back) return back.error();
    if (Status got = bench.victim_gets(kVictimTokens); !got) return got.error();
  }
  return prompt_tokens;
}

Status run(const Arguments& arguments, const Mode& mode) {
  Bench bench;
  if (Status ready = set_up(arguments, mode, bench); !ready) return ready;
  Engine& engine = *bench.engine;
  Watch& watch = *bench.watch;
  if (Status sent = bench.start_streams(arguments.streams); !sent) return sent;
  if (Status done = bench.steps(kQuietSteps); !done) return done;
  watch.victim_comes();
  EngineRequest victim = make_request(1, arguments.victim, kVictimOutput, engine, bench.clock.now());
  victim.labels.tier = Tier::kBatch;
  if (Status sent = engine.submit(std::move(victim)); !sent) return sent;
  const TimePoint start = bench.clock.now();
  const std::uint64_t tokens_before = watch.tokens;
  if (Status got = bench.victim_gets(kVictimTokens); !got) return got;
  const Result<std::uint64_t> chats = preempt_and_resume(arguments, bench);
  if (!chats) return chats.error();
  const std::uint64_t tokens = arguments.victim + *chats + watch.tokens - tokens_before;
  const double rate = static_cast<double>(tokens) / to_seconds(bench.clock.now() - start);
  engine.cancel(RequestId(1), CancelCause::kClientGone);
  engine.step();
  watch.victim_went();
  if (Status done = bench.steps(kQuietSteps); !done) return done;
  std::printf("%-13s %8.2f %12.2f %6zu %7.3f %13.2f %10.0f %8u %10u %9.1f\n", mode.name, median(watch.quiet.ms),
              median(watch.moving.ms), watch.moving.ms.size(), median_ratio(watch.moving, watch.quiet),
              watch.worst_copy_step_ms, median(watch.resumed_ms), watch.swapped, watch.recomputed, rate);
  std::fflush(stdout);
  engine.stop();
  return {};
}

int run_all(const Arguments& arguments) {
  std::printf("%u streams, a victim of %u tokens, %u rounds\n", arguments.streams, arguments.victim, arguments.rounds);
  std::printf("%-13s %8s %12s %6s %7s %13s %10s %8s %10s %9s\n", "", "quiet ms", "preempted ms", "steps", "ratio",
              "worst copy ms", "resumed ms", "swapped", "recomputed", "tokens/s");
  std::fflush(stdout);
  for (const Mode& mode : kModes) {
    if (std::string_view(mode.name).find(arguments.only) == std::string_view::npos) continue;
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
  takt::bench::CommandLine line("Preemption by swap and by recompute on a real model");
  takt::Arguments arguments;
  line.required("model", arguments.model, "GGUF file");
  line.number("--streams", arguments.streams, "Realtime streams beside the victim", {1, 64});
  line.number("--victim", arguments.victim, "Prompt tokens of the victim", {256, 16384});
  line.number("--rounds", arguments.rounds, "Times that it is preempted", {1, 100});
  line.text("--swap-path", arguments.directory, "Directory of the arena's file");
  line.text("--only", arguments.only, "Only the modes whose name holds this word");
  line.number("--threads", arguments.threads, "Compute threads; 0: the cores there are");
  if (const auto code = line.parse(argc, argv)) return *code;
  return takt::run_all(arguments);
}
