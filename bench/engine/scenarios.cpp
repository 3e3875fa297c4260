// The scenarios of docs/scheduling.md in virtual time: the whole engine over the fake executor, whose steps cost 8 ms,
// 0.35 ms a row and 20 ns an attended position. Prints a table each, in Markdown.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "exec/fake/fake_executor.h"

namespace takt {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct Times {
  std::vector<double> first_ms;
  std::vector<double> gap_ms;
  std::vector<double> done_ms;
  std::uint64_t tokens = 0;
  std::uint32_t preemptions = 0;
};

double quantile(std::vector<double> values, double p) {
  if (values.empty()) return 0.0;
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(p * static_cast<double>(values.size() - 1))];
}

// Times by the application that requests name.
class Watch final : public EventSink {
 public:
  void publish(const std::vector<Event>& events) noexcept override {
    for (const Event& event : events) std::visit([&](const auto& what) { note(event.at, what); }, event.what);
  }
  std::map<std::string, Times> groups;
  std::uint32_t ended = 0;
  double most_share_lost = 0.0;
  std::uint32_t overruns = 0;  // steps whose rows alone exceeded the budget

 private:
  struct Request {
    std::string group;
    TimePoint arrival;
    TimePoint last;
    bool has_first = false;
  };
  void note(TimePoint, const Accepted& e) { requests_[e.request.value] = {e.labels.application, e.arrival, {}}; }
  void note(TimePoint at, const TokenSampled& e) {
    Request& r = requests_[e.request.value];
    Times& group = groups[r.group];
    ++group.tokens;
    if (r.has_first) {
      group.gap_ms.push_back(to_seconds(at - r.last) * 1e3);
    } else {
      group.first_ms.push_back(to_seconds(at - r.arrival) * 1e3);
    }
    r.has_first = true;
    r.last = at;
  }
  void note(TimePoint, const Preempted& e) { ++groups[requests_[e.request.value].group].preemptions; }
  void note(TimePoint at, const Closed& e) {
    Request& r = requests_[e.request.value];
    groups[r.group].done_ms.push_back(to_seconds(at - r.arrival) * 1e3);
    requests_.erase(e.request.value);
    ++ended;
  }
  void note(TimePoint, const StepCommitted& e) {
    overruns += e.plan.beat_overrun ? 1 : 0;
    most_share_lost =
        std::max(most_share_lost, 1.0 - std::min(e.plan.pressure.batch_share, e.plan.pressure.realtime_share));
  }
  template <typename Other>
  void note(TimePoint, const Other&) {}
  std::map<std::uint64_t, Request> requests_;
};

struct Ask {
  const char* group = "";
  std::uint32_t prompt = 64;
  std::uint32_t output = 64;
  Tier tier = Tier::kRealtime;
  const char* tenant = "a";
  Duration itl = milliseconds(100);
};

class Machine {
 public:
  explicit Machine(const EngineOptions& options, std::uint32_t blocks = 4096,
                   Duration token_cost = std::chrono::microseconds(350)) {
    FakeScript script;
    script.step_cost = milliseconds(8);
    script.token_cost = token_cost;
    script.attended_cost = std::chrono::nanoseconds(20);
    script.block_count = blocks;
    script.context_tokens = 16384;
    script.length = 1U << 20;
    EngineOptions all = options;
    all.realtime.max_waiting = all.batch.max_waiting = 100'000;
    all.realtime.max_waiting_tokens = all.batch.max_waiting_tokens = 1U << 30;
    engine_ =
        std::move(Engine::create(make_fake_executor(script, clock, advance(clock)), clock, all, {&watch}).value());
  }

  void ask(const Ask& ask) {
    EngineRequest r;
    r.id = RequestId(++last_);
    for (std::uint32_t i = 0; i < ask.prompt; ++i)
      r.prompt.push_back(static_cast<TokenId>('a' + (last_ * 7 + i * 3 + i / 11) % 26));
    r.max_tokens = ask.output;
    r.labels.application = ask.group;
    r.labels.tenant = ask.tenant;
    r.labels.tier = ask.tier;
    if (ask.tier == Tier::kBatch) r.service_class = ClassIndex(0);
    r.targets.itl = ask.itl;
    r.targets.max_queue_wait = std::chrono::hours(20);
    r.arrival = clock.now();
    r.use_prefix_cache = false;
    if (!engine_->submit(std::move(r)).ok()) std::fprintf(stderr, "refused: %s\n", ask.group);
  }

  // Steps for so long; `every` is called before each step.
  void run(Duration time, const std::function<void()>& every = {}) {
    const TimePoint end = clock.now() + time;
    while (clock.now() < end) {
      if (every) every();
      turn();
    }
  }
  void run_until(const std::function<bool()>& done) {
    for (int i = 0; i < 2'000'000 && !done(); ++i) turn();
  }
  EngineStatus status() const { return engine_->status(); }
  Times& of(const std::string& group) { return watch.groups[group]; }

  ManualClock clock;
  Watch watch;

 private:
  void turn() {
    const StepOutcome outcome = engine_->step();
    if (outcome == StepOutcome::kNoWork || outcome == StepOutcome::kDeferred) clock.advance(milliseconds(1));
  }
  std::unique_ptr<Engine> engine_;
  std::uint64_t last_ = 0;
};

void title(const char* name, const char* columns) {
  std::printf("\n### %s\n\n%s\n", name, columns);
  std::string rule;
  for (const char* c = columns; *c != 0; ++c) rule += *c == '|' ? (c[1] == 0 ? "|" : "|---") : "";
  std::printf("%s\n", rule.c_str());
}

EngineOptions no_tiers_min_share(double share = 0.05) {
  EngineOptions o;
  o.sched.batch_min_share = share;
  return o;
}

void long_prompt_beside_streams() {
  title("Long prompt beside streams", "| four streams and | ITL p50 ms | longest gap ms | TTFT of the prompt ms |");
  for (const auto& [name, rule] :
       {std::pair("nothing", PrefillRule::kChunked), std::pair("8k prompt, chunked", PrefillRule::kChunked),
        std::pair("8k prompt, whole", PrefillRule::kWhole)}) {
    EngineOptions o;
    o.sched.prefill = rule;
    Machine m(o);
    for (int i = 0; i < 4; ++i) m.ask({"stream", 32, 4000});
    m.run(seconds(2));
    m.of("stream") = {};
    if (std::string(name) != "nothing") m.ask({"prompt", 8000, 1});
    m.run(seconds(12));
    std::printf("| %s | %.1f | %.1f | %.0f |\n", name, quantile(m.of("stream").gap_ms, 0.5),
                quantile(m.of("stream").gap_ms, 1.0), quantile(m.of("prompt").first_ms, 0.5));
  }
}

void batch_streams_and_one_chat() {
  title("30 batch streams and one realtime request",
        "| the chat | TTFT ms | ITL p50 ms | ITL p99 ms | end to end s | batch tokens/s |");
  struct Case {
    const char* name;
    int streams;
    double ceiling;
  };
  for (const Case& c : {Case{"alone", 0, 1.0}, Case{"beside 30 batch streams", 30, 1.0},
                        Case{"the same, batch class at most 5 % of step time", 30, 0.05}}) {
    EngineOptions o = no_tiers_min_share();
    o.sched.classes.resize(1);
    o.sched.classes[0].limits.tier = Tier::kBatch;
    o.sched.classes[0].limits.ceiling.step_time = c.ceiling;
    Machine m(o);
    for (int i = 0; i < c.streams; ++i) m.ask({"batch", 64, 8000, Tier::kBatch});
    m.run(seconds(3));
    m.of("batch") = {};
    m.ask({"chat", 200, 100});
    const TimePoint start = m.clock.now();
    m.run_until([&] { return !m.of("chat").done_ms.empty(); });
    const double time = to_seconds(m.clock.now() - start);
    std::printf("| %s | %.0f | %.1f | %.1f | %.2f | %.0f |\n", c.name, m.of("chat").first_ms[0],
                quantile(m.of("chat").gap_ms, 0.5), quantile(m.of("chat").gap_ms, 0.99), time,
                static_cast<double>(m.of("batch").tokens) / time);
  }
}

void two_tenants_one_floods() {
  title("Two tenants, one floods",
        "| order | quiet tenant TTFT p50 ms | p99 ms | flooding tenant TTFT p50 ms | tokens/s in all |");
  for (const auto& [name, rule] : {std::pair("fcfs", OrderRule::kFcfs), std::pair("fair", OrderRule::kFair)}) {
    EngineOptions o;
    o.sched.order = rule;
    o.sched.max_sequences = 8;
    Machine m(o);
    for (int i = 0; i < 200; ++i) m.ask({"flood", 200, 60, Tier::kRealtime, "flood"});
    TimePoint next = m.clock.now();
    m.run(seconds(60), [&] {
      if (m.clock.now() < next) return;
      m.ask({"quiet", 100, 40, Tier::kRealtime, "quiet"});
      next = m.clock.now() + seconds(2);
    });
    std::printf("| %s | %.0f | %.0f | %.0f | %.0f |\n", name, quantile(m.of("quiet").first_ms, 0.5),
                quantile(m.of("quiet").first_ms, 0.99), quantile(m.of("flood").first_ms, 0.5),
                static_cast<double>(m.of("quiet").tokens + m.of("flood").tokens) / 60);
  }
}

void burst_on_a_full_machine() {
  title("Burst of 8 chats on a machine full of batch",
        "| | TTFT p50 ms | TTFT worst ms | ITL p99 ms | batch tokens/s before | during |");
  Machine m(no_tiers_min_share());
  for (int i = 0; i < 100; ++i) m.ask({"batch", 128, 4000, Tier::kBatch});
  m.run(seconds(5));
  const double before = static_cast<double>(std::exchange(m.of("batch"), {}).tokens) / 5;
  for (int i = 0; i < 8; ++i) m.ask({"chat", 150, 80});
  const TimePoint start = m.clock.now();
  m.run_until([&] { return m.of("chat").done_ms.size() == 8; });
  std::printf("| 64 seats, all batch | %.0f | %.0f | %.1f | %.0f | %.0f |\n", quantile(m.of("chat").first_ms, 0.5),
              quantile(m.of("chat").first_ms, 1.0), quantile(m.of("chat").gap_ms, 0.99), before,
              static_cast<double>(m.of("batch").tokens) / to_seconds(m.clock.now() - start));
}

void pool_too_small() {
  title("Pool too small", "| admission | answers a minute | preemptions | ITL p99 ms |");
  for (const auto& [name, rule] :
       {std::pair("greedy", AdmissionRule::kGreedy), std::pair("predicted", AdmissionRule::kPredicted),
        std::pair("worst_case", AdmissionRule::kWorstCase)}) {
    EngineOptions o;
    o.sched.admission = rule;
    Machine m(o, 160);
    std::uint32_t asked = 0;
    m.run(seconds(120), [&] {
      while (asked < m.watch.ended + 40) {
        m.ask({"x", 48, 100 + asked % 5 * 80});
        ++asked;
      }
    });
    std::printf("| %s | %.0f | %u | %.0f |\n", name, static_cast<double>(m.watch.ended) / 2, m.of("x").preemptions,
                quantile(m.of("x").gap_ms, 0.99));
  }
}

void low_traffic_at_night() {
  title("Low traffic at night: one request every ten seconds", "| window | TTFT ms |");
  for (const auto& [name, adaptive] :
       {std::pair("none", true), std::pair("4 or 500 ms, adaptive", true), std::pair("4 or 500 ms, fixed", false)}) {
    EngineOptions o;
    if (std::string(name) != "none") o.sched.window = {4, 0.0, milliseconds(500), adaptive};
    Machine m(o);
    for (int i = 0; i < 6; ++i) {
      m.ask({"x", 100, 20});
      m.run(seconds(10));
    }
    std::printf("| %s | %.0f |\n", name, quantile(m.of("x").first_ms, 0.5));
  }
}

void cascade_and_recovery() {
  title("Cascade and recovery",
        "| breaker | tokens/s before | under pressure | a minute after | preemptions | most that admission shrank |");
  for (const std::uint32_t limit : {0U, 20U}) {
    EngineOptions o;
    o.sched.breaker.preemptions_per_minute = limit;
    o.sched.watermark = 0;
    Machine m(o, 200);
    std::uint32_t asked = 0;
    std::uint32_t big = 0;
    const auto keep_asking = [&] {
      while (asked < m.watch.ended + 12) {
        m.ask({big > 0 ? "big" : "x", 48, big > 0 ? 900U : 64U});
        ++asked;
        if (big > 0) --big;
      }
    };
    const auto rate = [&](Duration time) {
      m.of("x").tokens = m.of("big").tokens = 0;
      m.run(time, keep_asking);
      return static_cast<double>(m.of("x").tokens + m.of("big").tokens) / to_seconds(time);
    };
    const double before = rate(seconds(60));
    for (int i = 0; i < 40; ++i) m.ask({"big", 48, 900});
    asked += 40;
    const double under = rate(seconds(60));
    m.run_until([&] { return m.of("big").done_ms.size() >= 40; });
    rate(seconds(60));
    const double after = rate(seconds(60));
    std::printf("| %s | %.0f | %.0f | %.0f | %u | %.0f %% |\n", limit == 0 ? "off" : "20 a minute", before, under,
                after, m.of("x").preemptions + m.of("big").preemptions, m.watch.most_share_lost * 100);
  }
}

void dashboard_beside_a_night_job() {
  title("A dashboard's summaries beside a night job of thousands of tickets",
        "| | summary end to end p50 ms | p99 ms | tickets a minute |");
  struct Case {
    const char* name;
    bool night;
    Duration itl;
  };
  for (const Case& c : {Case{"alone", false, milliseconds(100)},
                        Case{"beside 3,000 tickets, ITL target 100 ms", true, milliseconds(100)},
                        Case{"beside 3,000 tickets, ITL target 30 ms", true, milliseconds(30)}}) {
    Machine m(no_tiers_min_share());
    for (int i = 0; c.night && i < 3000; ++i) m.ask({"ticket", 150, 30, Tier::kBatch});
    m.run(seconds(2));
    m.of("ticket") = {};
    TimePoint next = m.clock.now();
    m.run(seconds(60), [&] {
      if (m.clock.now() < next) return;
      m.ask({"summary", 120, 24, Tier::kRealtime, "a", c.itl});
      next = m.clock.now() + milliseconds(1500);
    });
    std::printf("| %s | %.0f | %.0f | %.0f |\n", c.name, quantile(m.of("summary").done_ms, 0.5),
                quantile(m.of("summary").done_ms, 0.99), static_cast<double>(m.of("ticket").done_ms.size()));
  }
}

void voice_beside_a_sweep() {
  title("Voice beside a sweep of prompts without output",
        "| | voice TTFT p50 ms | ITL p50 ms | ITL p99 ms | prompts a minute |");
  for (const bool sweep : {false, true}) {
    Machine m(no_tiers_min_share());
    if (sweep) {
      for (int i = 0; i < 2000; ++i) m.ask({"sweep", 400, 1, Tier::kBatch});
    }
    TimePoint next = m.clock.now();
    m.run(seconds(60), [&] {
      if (m.clock.now() < next) return;
      m.ask({"voice", 60, 40});
      next = m.clock.now() + seconds(3);
    });
    std::printf("| %s | %.0f | %.1f | %.1f | %.0f |\n", sweep ? "beside the sweep" : "alone",
                quantile(m.of("voice").first_ms, 0.5), quantile(m.of("voice").gap_ms, 0.5),
                quantile(m.of("voice").gap_ms, 0.99), static_cast<double>(m.of("sweep").done_ms.size()));
  }
}

void more_chats_than_the_beat_has_room_for() {
  title("More chats than the beat has room for: 200 at once, 256 seats",
        "| decode_share | streams at once | ITL p50 ms | ITL p99 ms | TTFT p50 ms | tokens/s | steps over the beat |");
  for (const double share : {0.8, 0.0}) {
    EngineOptions o;
    o.sched.max_sequences = 256;
    o.sched.decode_share = share;
    Machine m(o, 16384, milliseconds(1));
    for (int i = 0; i < 200; ++i) m.ask({"chat", 100, 150});
    m.run(seconds(2));
    std::uint32_t most = 0;
    const TimePoint start = m.clock.now();
    m.run_until([&] {
      most = std::max(most, m.status().running);
      return m.of("chat").done_ms.size() == 200;
    });
    std::printf("| %.1f | %u | %.1f | %.1f | %.0f | %.0f | %u |\n", share, most, quantile(m.of("chat").gap_ms, 0.5),
                quantile(m.of("chat").gap_ms, 0.99), quantile(m.of("chat").first_ms, 0.5),
                static_cast<double>(m.of("chat").tokens) / (2 + to_seconds(m.clock.now() - start)), m.watch.overruns);
  }
}

void one_stream_against_eight() {
  title("One stream against eight", "| streams | tokens/s of each | in all | ITL p50 ms |");
  for (const int streams : {1, 8}) {
    Machine m({});
    for (int i = 0; i < streams; ++i) m.ask({"stream", 64, 4000});
    m.run(seconds(20));
    const double all = static_cast<double>(m.of("stream").tokens) / 20;
    std::printf("| %d | %.1f | %.1f | %.1f |\n", streams, all / streams, all, quantile(m.of("stream").gap_ms, 0.5));
  }
}

void batch_under_endless_realtime() {
  title("A batch request under endless realtime load",
        "| minimum share | batch tokens/s | realtime tokens/s | realtime ITL p50 ms |");
  for (const double share : {0.0, 0.05, 0.2}) {
    EngineOptions o = no_tiers_min_share(share);
    o.sched.max_sequences = 16;
    Machine m(o);
    std::uint32_t asked = 0;
    const auto keep_asking = [&] {
      while (asked < m.of("chat").done_ms.size() + 24) {
        m.ask({"chat", 100, 60});
        ++asked;
      }
    };
    m.run(seconds(2), keep_asking);
    for (int i = 0; i < 8; ++i) m.ask({"batch", 200, 4000, Tier::kBatch});
    m.run(seconds(60), keep_asking);
    std::printf("| %.2f | %.1f | %.1f | %.1f |\n", share, static_cast<double>(m.of("batch").tokens) / 60,
                static_cast<double>(m.of("chat").tokens) / 62, quantile(m.of("chat").gap_ms, 0.5));
  }
}

}  // namespace
}  // namespace takt

int main() {
  takt::long_prompt_beside_streams();
  takt::batch_streams_and_one_chat();
  takt::two_tenants_one_floods();
  takt::burst_on_a_full_machine();
  takt::batch_under_endless_realtime();
  takt::pool_too_small();
  takt::low_traffic_at_night();
  takt::cascade_and_recovery();
  takt::dashboard_beside_a_night_job();
  takt::voice_beside_a_sweep();
  takt::more_chats_than_the_beat_has_room_for();
  takt::one_stream_against_eight();
  return 0;
}
