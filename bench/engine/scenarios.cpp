// The scenarios of docs/scheduling.md. Prints a table each, in Markdown.
//
//   scenarios [--live MODEL.gguf] [--only WORD]
//
// Without a model in virtual time: the whole engine over the fake executor (scenario_machine.h). With one, on this
// machine's CPU, with a sixth of the tokens and of the memory.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "command_line.h"
#include "engine/scenario_machine.h"

namespace takt::bench {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

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

void long_prompt_beside_streams(const Place& place) {
  title("Long prompt beside streams", "| four streams and | ITL p50 ms | longest gap ms | TTFT of the prompt ms |");
  for (const auto& [name, rule] :
       {std::pair("nothing", PrefillRule::kChunked), std::pair("8k prompt, chunked", PrefillRule::kChunked),
        std::pair("8k prompt, whole", PrefillRule::kWhole)}) {
    EngineOptions o;
    o.sched.prefill = rule;
    Machine m(place, o);
    for (int i = 0; i < 4; ++i) m.ask({"stream", 32, 4000});
    m.run(seconds(2));
    m.of("stream") = {};
    if (std::string(name) != "nothing") m.ask({"prompt", 8000, 1});
    m.run(seconds(12));
    std::printf("| %s | %.1f | %.1f | %.0f |\n", name, quantile(m.of("stream").gap_ms, 0.5),
                quantile(m.of("stream").gap_ms, 1.0), quantile(m.of("prompt").first_ms, 0.5));
  }
}

void batch_streams_and_one_chat(const Place& place) {
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
    Machine m(place, o);
    for (int i = 0; i < c.streams; ++i) m.ask({"batch", 64, 8000, Tier::kBatch});
    m.run(seconds(3));
    m.of("batch") = {};
    m.ask({"chat", 200, 100});
    const TimePoint start = m.now();
    m.run_until([&] { return !m.of("chat").done_ms.empty(); });
    const double time = to_seconds(m.now() - start);
    std::printf("| %s | %.0f | %.1f | %.1f | %.2f | %.0f |\n", c.name, m.of("chat").first_ms[0],
                quantile(m.of("chat").gap_ms, 0.5), quantile(m.of("chat").gap_ms, 0.99), time,
                static_cast<double>(m.of("batch").tokens) / time);
  }
}

void two_tenants_one_floods(const Place& place) {
  title("Two tenants, one floods",
        "| order | quiet tenant TTFT p50 ms | p99 ms | flooding tenant TTFT p50 ms | tokens/s in all |");
  for (const auto& [name, rule] : {std::pair("fcfs", OrderRule::kFcfs), std::pair("fair", OrderRule::kFair)}) {
    EngineOptions o;
    o.sched.order = rule;
    o.sched.max_sequences = 8;
    Machine m(place, o);
    for (int i = 0; i < 200; ++i) m.ask({"flood", 200, 60, Tier::kRealtime, "flood"});
    TimePoint next = m.now();
    m.run(seconds(60), [&] {
      if (m.now() < next) return;
      m.ask({"quiet", 100, 40, Tier::kRealtime, "quiet"}, next);
      next += seconds(2);
    });
    std::printf("| %s | %.0f | %.0f | %.0f | %.0f |\n", name, quantile(m.of("quiet").first_ms, 0.5),
                quantile(m.of("quiet").first_ms, 0.99), quantile(m.of("flood").first_ms, 0.5),
                static_cast<double>(m.of("quiet").tokens + m.of("flood").tokens) / 60);
  }
}

void burst_on_a_full_machine(const Place& place) {
  title("Burst of 8 chats on a machine full of batch",
        "| | TTFT p50 ms | TTFT worst ms | ITL p99 ms | batch tokens/s before | during |");
  Machine m(place, no_tiers_min_share());
  for (int i = 0; i < 100; ++i) m.ask({"batch", 128, 4000, Tier::kBatch});
  m.run(seconds(5));
  const double before = static_cast<double>(std::exchange(m.of("batch"), {}).tokens) / 5;
  for (int i = 0; i < 8; ++i) m.ask({"chat", 150, 80});
  const TimePoint start = m.now();
  m.run_until([&] { return m.of("chat").done_ms.size() == 8; });
  std::printf("| 64 seats, all batch | %.0f | %.0f | %.1f | %.0f | %.0f |\n", quantile(m.of("chat").first_ms, 0.5),
              quantile(m.of("chat").first_ms, 1.0), quantile(m.of("chat").gap_ms, 0.99), before,
              static_cast<double>(m.of("batch").tokens) / to_seconds(m.now() - start));
}

void pool_too_small(const Place& place) {
  title("Pool too small", "| admission | answers a minute | preemptions | ITL p99 ms |");
  for (const auto& [name, rule] :
       {std::pair("greedy", AdmissionRule::kGreedy), std::pair("predicted", AdmissionRule::kPredicted),
        std::pair("worst_case", AdmissionRule::kWorstCase)}) {
    EngineOptions o;
    o.sched.admission = rule;
    Machine m(place, o, 160);
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

void low_traffic_at_night(const Place& place) {
  title("Low traffic at night: one request every ten seconds", "| window | TTFT ms |");
  for (const auto& [name, adaptive] :
       {std::pair("none", true), std::pair("4 or 500 ms, adaptive", true), std::pair("4 or 500 ms, fixed", false)}) {
    EngineOptions o;
    if (std::string(name) != "none") o.sched.window = {4, 0.0, milliseconds(500), adaptive};
    Machine m(place, o);
    for (int i = 0; i < 6; ++i) {
      m.ask({"x", 100, 20});
      m.run(seconds(10));
    }
    std::printf("| %s | %.0f |\n", name, quantile(m.of("x").first_ms, 0.5));
  }
}

void cascade_and_recovery(const Place& place) {
  title("Cascade and recovery",
        "| breaker | tokens/s before | under pressure | a minute after | preemptions | most that admission shrank |");
  for (const std::uint32_t limit : {0U, 20U}) {
    // On a real machine a table takes as long as it says: once is enough.
    if (place.live() && limit == 0) continue;
    EngineOptions o;
    o.sched.breaker.preemptions_per_minute = limit;
    o.sched.watermark = 0;
    Machine m(place, o, 200);
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

void dashboard_beside_a_night_job(const Place& place) {
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
    Machine m(place, no_tiers_min_share());
    for (int i = 0; c.night && i < 3000; ++i) m.ask({"ticket", 150, 30, Tier::kBatch});
    m.run(seconds(2));
    m.of("ticket") = {};
    TimePoint next = m.now();
    m.run(seconds(60), [&] {
      if (m.now() < next) return;
      m.ask({"summary", 120, 24, Tier::kRealtime, "a", c.itl}, next);
      next += milliseconds(1500);
    });
    std::printf("| %s | %.0f | %.0f | %.0f |\n", c.name, quantile(m.of("summary").done_ms, 0.5),
                quantile(m.of("summary").done_ms, 0.99), static_cast<double>(m.of("ticket").done_ms.size()));
  }
}

void voice_beside_a_sweep(const Place& place) {
  title("Voice beside a sweep of prompts without output",
        "| | voice TTFT p50 ms | ITL p50 ms | ITL p99 ms | prompts a minute |");
  for (const bool sweep : {false, true}) {
    Machine m(place, no_tiers_min_share());
    if (sweep) {
      for (int i = 0; i < 2000; ++i) m.ask({"sweep", 400, 1, Tier::kBatch});
    }
    TimePoint next = m.now();
    m.run(seconds(60), [&] {
      if (m.now() < next) return;
      m.ask({"voice", 60, 40}, next);
      next += seconds(3);
    });
    std::printf("| %s | %.0f | %.1f | %.1f | %.0f |\n", sweep ? "beside the sweep" : "alone",
                quantile(m.of("voice").first_ms, 0.5), quantile(m.of("voice").gap_ms, 0.5),
                quantile(m.of("voice").gap_ms, 0.99), static_cast<double>(m.of("sweep").done_ms.size()));
  }
}

void more_chats_than_the_beat_has_room_for(const Place& place) {
  title("More chats than the beat has room for: 200 at once, 256 seats",
        "| decode_share | streams at once | ITL p50 ms | ITL p99 ms | TTFT p50 ms | tokens/s | steps over the beat |");
  for (const double share : {0.8, 0.0}) {
    EngineOptions o;
    o.sched.max_sequences = 256;
    o.sched.decode_share = share;
    Machine m(place, o, 16384, milliseconds(1));
    for (int i = 0; i < 200; ++i) m.ask({"chat", 16, 400});
    m.run(seconds(2));
    std::uint32_t most = 0;
    const TimePoint start = m.now();
    m.run_until([&] {
      most = std::max(most, m.status().running);
      return m.of("chat").done_ms.size() == 200;
    });
    std::printf("| %.1f | %u | %.1f | %.1f | %.0f | %.0f | %u |\n", share, most, quantile(m.of("chat").gap_ms, 0.5),
                quantile(m.of("chat").gap_ms, 0.99), quantile(m.of("chat").first_ms, 0.5),
                static_cast<double>(m.of("chat").tokens) / (2 + to_seconds(m.now() - start)), m.watch.overruns);
  }
}

// What tiers promise: the chats' TTFT at most twice that of an idle machine, gaps at most 1.25 times the planned step,
// and in all nine tenths of what batch work alone computes.
void chats_beside_a_full_house(const Place& place) {
  title("Chats beside a full house of batch work",
        "| | chats | TTFT p50 ms | p90 | p99 | ITL p50 ms | p90 | p99 | computed tokens/s |");
  struct Case {
    const char* name;
    std::uint32_t chats;
    std::uint32_t batch;
  };
  constexpr double kChatsPerSecond = 2.0;
  const std::uint32_t all = place.live() ? 200 : 10'000;
  const Duration batch_alone = place.live() ? seconds(30) : seconds(300);
  for (const Case& c : {Case{"batch alone", 0, 48}, Case{"chats alone", all, 0}, Case{"both", all, 48}}) {
    Machine m(place, EngineOptions{});
    std::uint32_t asked = 0;
    std::uint32_t chats = 0;
    TimePoint next = m.now();
    const auto arrive = [&] {
      for (; asked < c.batch + m.of("batch").done_ms.size(); ++asked) m.ask({"batch", 300, 400, Tier::kBatch});
      for (; chats < c.chats && m.now() >= next; ++chats) {
        const auto draw = [&](std::uint64_t which) { return uniform01(0xC4A7, std::uint64_t{3} * chats + which); };
        const auto prompt = 100 + static_cast<std::uint32_t>(200 * draw(0));
        m.ask({"chat", prompt, 30 + static_cast<std::uint32_t>(70 * draw(1))}, next);
        next += from_seconds(-std::log1p(-draw(2)) / kChatsPerSecond);
      }
    };
    const TimePoint start = m.now();
    const auto is_over = [&] {
      return c.chats == 0 ? m.now() - start >= batch_alone : m.of("chat").done_ms.size() >= c.chats;
    };
    m.run_until(is_over, arrive);
    const Times& of = m.of("chat");
    std::printf("| %s | %u | %.0f | %.0f | %.0f | %.1f | %.1f | %.1f | %.0f |\n", c.name, c.chats,
                quantile(of.first_ms, 0.5), quantile(of.first_ms, 0.9), quantile(of.first_ms, 0.99),
                quantile(of.gap_ms, 0.5), quantile(of.gap_ms, 0.9), quantile(of.gap_ms, 0.99),
                static_cast<double>(m.watch.computed) / to_seconds(m.now() - start));
  }
}

void one_stream_against_eight(const Place& place) {
  title("One stream against eight", "| streams | tokens/s of each | in all | ITL p50 ms |");
  for (const int streams : {1, 8}) {
    Machine m(place, EngineOptions{});
    const TimePoint start = m.now();
    for (int i = 0; i < streams; ++i) m.ask({"stream", 64, 2400});
    m.run_until([&] { return m.of("stream").done_ms.size() == static_cast<std::size_t>(streams); });
    const double all = static_cast<double>(m.of("stream").tokens) / to_seconds(m.now() - start);
    std::printf("| %d | %.1f | %.1f | %.1f |\n", streams, all / streams, all, quantile(m.of("stream").gap_ms, 0.5));
  }
}

void batch_under_endless_realtime(const Place& place) {
  title("A batch request under endless realtime load",
        "| minimum share | batch tokens/s | realtime tokens/s | realtime ITL p50 ms |");
  for (const double share : {0.0, 0.05, 0.2}) {
    EngineOptions o = no_tiers_min_share(share);
    o.sched.max_sequences = 16;
    Machine m(place, o);
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

// A family's evening on one machine: an hour of it in five minutes, beside the night's work that has begun early.
struct HomeApplication {
  const char* name;
  double per_hour;
  std::uint32_t prompt;
  std::uint32_t shared;  // of the prompt
  std::uint32_t output;  // on average
  Duration itl;
};
constexpr HomeApplication kHome[] = {
    {"voice", 28, 1826, 1800, 22, milliseconds(60)},     {"ide", 188, 1247, 900, 16, milliseconds(60)},
    {"chat", 16, 919, 120, 250, milliseconds(100)},      {"agent", 33, 4000, 3700, 145, milliseconds(150)},
    {"documents", 4, 2869, 250, 223, milliseconds(100)}, {"events", 21, 487, 420, 12, milliseconds(100)},
};

class FamilyEvening {
 public:
  FamilyEvening(Machine& machine, bool night_work) : machine_(machine), night_work_(night_work) {
    for (std::size_t i = 0; i < std::size(kHome); ++i) next_.push_back(machine.now() + gap(kHome[i].per_hour));
    if (!night_work) return;
    for (int i = 0; i < 120; ++i) machine.ask({"summaries", 2870, 175, Tier::kBatch, "night", hour, 180});
  }

  void arrive() {
    const TimePoint now = machine_.now();
    for (std::size_t i = 0; i < next_.size(); ++i) {
      if (now < next_[i]) continue;
      const HomeApplication& home = kHome[i];
      const std::uint32_t output = 1 + static_cast<std::uint32_t>(home.output * 2 * draw());
      machine_.ask({home.name, home.prompt, output, Tier::kRealtime, "family", home.itl, home.shared}, next_[i]);
      next_[i] += gap(home.per_hour);
    }
    if (night_work_ && now >= next_index_) {
      machine_.ask({"index", 251, 1, Tier::kBatch, "night", hour});
      next_index_ = now + gap(252);
    }
  }

 private:
  static constexpr Duration hour = std::chrono::hours(1);
  static constexpr double kCompression = 12.0;

  double draw() { return uniform01(0xFA417, draws_++); }
  Duration gap(double per_hour) { return from_seconds(-std::log1p(-draw()) * 3600.0 / per_hour / kCompression); }

  Machine& machine_;
  const bool night_work_;
  std::uint64_t draws_ = 0;
  std::vector<TimePoint> next_;
  TimePoint next_index_{};
};

void family_evening(const Place& place) {
  title("A family's evening, an hour in five minutes, alone and beside night work",
        "| application | requests | TTFT p50 ms | p99 | ITL p99 | TTFT p50 beside night work | p99 | ITL p99 |");
  std::array<std::map<std::string, Times>, 2> seen;
  double night_tokens = 0;
  for (const bool night_work : {false, true}) {
    Machine m(place, no_tiers_min_share());
    FamilyEvening evening(m, night_work);
    m.run(place.live() ? seconds(100) : seconds(300), [&] { evening.arrive(); });
    night_tokens = static_cast<double>(m.of("summaries").tokens);
    seen[night_work ? 1 : 0] = m.watch.groups;
  }
  for (const HomeApplication& home : kHome) {
    const Times& alone = seen[0][home.name];
    const Times& beside = seen[1][home.name];
    std::printf("| %s | %zu | %.0f | %.0f | %.1f | %.0f | %.0f | %.1f |\n", home.name, beside.first_ms.size(),
                quantile(alone.first_ms, 0.5), quantile(alone.first_ms, 0.99), quantile(alone.gap_ms, 0.99),
                quantile(beside.first_ms, 0.5), quantile(beside.first_ms, 0.99), quantile(beside.gap_ms, 0.99));
  }
  std::printf("\nNight work meanwhile: %zu summaries (%.0f tokens), %zu pieces indexed.\n",
              seen[1]["summaries"].done_ms.size(), night_tokens, seen[1]["index"].done_ms.size());
}

struct Scenario {
  const char* name;
  void (*run)(const Place&);
};
constexpr Scenario kScenarios[] = {
    {"long-prompt-beside-streams", long_prompt_beside_streams},
    {"batch-streams-and-one-chat", batch_streams_and_one_chat},
    {"two-tenants-one-floods", two_tenants_one_floods},
    {"burst-on-a-full-machine", burst_on_a_full_machine},
    {"batch-under-endless-realtime", batch_under_endless_realtime},
    {"pool-too-small", pool_too_small},
    {"low-traffic-at-night", low_traffic_at_night},
    {"cascade-and-recovery", cascade_and_recovery},
    {"dashboard-beside-a-night-job", dashboard_beside_a_night_job},
    {"voice-beside-a-sweep", voice_beside_a_sweep},
    {"chats-beside-a-full-house", chats_beside_a_full_house},
    {"more-chats-than-the-beat-has-room-for", more_chats_than_the_beat_has_room_for},
    {"one-stream-against-eight", one_stream_against_eight},
    {"family-evening", family_evening},
};

}  // namespace
}  // namespace takt::bench

int main(int argc, char** argv) {
  takt::bench::CommandLine line("Scenarios of scheduling, a table each");
  takt::bench::Place place;
  std::string only;
  line.existing_file("--live", place.model, "Run them on this GGUF model in real time");
  line.text("--only", only, "Those whose name holds this");
  if (const auto code = line.parse(argc, argv)) return *code;
  for (const auto& scenario : takt::bench::kScenarios) {
    if (std::string(scenario.name).find(only) == std::string::npos) continue;
    scenario.run(place);
    std::fflush(stdout);
  }
  return 0;
}
