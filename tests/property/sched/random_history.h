// Random settings and loads for the scheduler's property tests; the same for the same seed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <random>
#include <string>

#include "core/service_class.h"
#include "sched/options.h"
#include "sched/sequence.h"

namespace takt::testing {

// Operations per run: TAKT_PROPERTY_OPERATIONS; a million for the long run.
inline std::size_t operations(std::size_t usual) {
  const char* wanted = std::getenv("TAKT_PROPERTY_OPERATIONS");
  return wanted == nullptr ? usual : static_cast<std::size_t>(std::stoull(wanted));
}

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(engine_() % n); }
  bool one_in(std::uint32_t n) { return below(n) == 0; }
  template <typename T>
  T of(std::initializer_list<T> values) {
    return *(values.begin() + below(static_cast<std::uint32_t>(values.size())));
  }

 private:
  std::mt19937_64 engine_;
};

inline constexpr std::uint32_t kClasses = 4;

inline ClassTable random_classes(Dice& dice, std::uint32_t seats) {
  ClassTable classes(kClasses);
  std::uint32_t left = seats;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    ClassLimits& limits = classes[i].limits;
    limits.tier = i < 2 ? Tier::kRealtime : Tier::kBatch;
    limits.weight = dice.of({0.5, 1.0, 2.0});
    limits.reserved.seats = dice.one_in(2) ? 0 : dice.below(left / 2 + 1);
    left -= limits.reserved.seats;
    if (dice.one_in(3)) limits.ceiling.seats = std::max(1U, limits.reserved.seats + dice.below(3));
  }
  return classes;
}

inline SequenceFacts random_facts(Dice& dice, TimePoint now, std::uint32_t longest_prompt,
                                  std::uint32_t longest_answer) {
  SequenceFacts facts;
  facts.service_class = ClassIndex(dice.below(kClasses));
  facts.tier = facts.service_class.value < 2 ? Tier::kRealtime : Tier::kBatch;
  facts.tenant = TenantId(1 + dice.below(5));
  facts.weight = dice.of({0.5, 1.0, 2.0});
  facts.deadline = now + std::chrono::milliseconds(dice.below(1000));
  facts.prompt_tokens = 1 + dice.below(longest_prompt);
  facts.limit_tokens = facts.prompt_tokens + 1 + dice.below(longest_answer);
  return facts;
}

inline SchedulerOptions any_options(Dice& dice) {
  SchedulerOptions o;
  o.order = dice.of({OrderRule::kFcfs, OrderRule::kFair, OrderRule::kDeadline});
  o.admission = dice.of({AdmissionRule::kGreedy, AdmissionRule::kPredicted, AdmissionRule::kWorstCase});
  o.reserve = dice.of({KvReserve::kPaged, KvReserve::kPaged, KvReserve::kWorstCase});
  o.max_sequences = 1 + dice.below(16);
  o.max_step_tokens = dice.of({32U, 256U, 2048U});
  o.watermark = dice.of({0.0, 0.05});
  o.lookahead = dice.of({1U, 4U, 32U});
  o.batch_min_share = dice.of({0.0, 0.05, 0.3});
  o.breaker.preemptions_per_minute = dice.of({0U, 5U, 60U});
  o.breaker.recovery = std::chrono::seconds(2);
  o.max_overtakes = dice.of({1U, 64U});
  o.decode_share = dice.of({0.0, 0.8});
  o.step_overhead = dice.of({0.0, 0.05, 0.3});
  if (dice.one_in(4)) o.window = {1 + dice.below(6), 0.0, std::chrono::milliseconds(20), dice.one_in(2)};
  if (dice.one_in(2)) {
    o.classes = random_classes(dice, o.max_sequences);
    for (EngineClass& c : o.classes) {
      c.limits.reserved.blocks = dice.of({0.0, 0.0, 0.2});
      c.limits.ceiling.blocks = dice.of({1.0, 1.0, 0.5});
      c.limits.ceiling.step_time = dice.of({1.0, 1.0, 0.5});
    }
  }
  return o;
}

}  // namespace takt::testing
