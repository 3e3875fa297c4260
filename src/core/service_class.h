// Service classes as the engine and the scheduler see them: plain numbers, an entry per class. Names, targets and who
// belongs to a class are decided before (route/service_class.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/ids.h"
#include "core/request.h"

namespace takt {

inline constexpr std::size_t kMostClasses = 32;
inline constexpr std::uint32_t kMostSeats = 4096;  // no engine has more

// A part of one engine. Seats are counted; blocks are a share of the pool's blocks (of every group, rounded down), step
// time one of the time of steps, both from 0 to 1. So one setting holds for models of any size.
struct ClassPart {
  std::uint32_t seats = 0;
  double blocks = 0.0;
  double step_time = 0.0;
};

// What a class has for sure, and what it may have at most. How it is held is the scheduler's policies' matter:
// * `weight`: contended work of the same tier is divided between classes, and between tenants inside them, in
//   proportion to class weight times EngineRequest::weight. Above 0.
// * `reserved`: others may borrow what the class does not use and give it back within two steps of its asking. A tier's
//   reserve is the sum of its classes'. Checked before it gets here: the reserves of all classes together leave
//   something over.
// * `ceiling`: the class never has more, also while the rest stands empty; who waits for it waits for kTierCeiling.
//   At least the reserve. Work that runs when a ceiling falls below it goes on: nothing new joins until it fits.
// * `min_share`: of step time, while the class has work that could run, over any minute, whatever higher tiers ask.
//   0: it may starve. A tier's minimum share is the largest of its classes that have work; they divide it by weight.
struct ClassLimits {
  Tier tier = Tier::kRealtime;
  double weight = 1.0;
  ClassPart reserved;
  ClassPart ceiling{kMostSeats, 1.0, 1.0};
  double min_share = 0.0;
};

// What may wait for one class, on top of its tier's bounds (engine/options.h). 0: no bound of its own.
struct ClassQueue {
  std::uint32_t max_waiting = 0;         // choices of requests that are accepted and not admitted
  std::uint64_t max_waiting_tokens = 0;  // their prompt tokens, each prompt counted once
};

struct EngineClass {
  ClassLimits limits;
  ClassQueue queue;
};

// The classes of an engine. A class keeps its index as long as the process lives, whatever becomes of the
// configuration: requests carry it. An index beyond the table (tests, and tools without classes) has the defaults of
// its tier.
using ClassTable = std::vector<EngineClass>;

inline ClassLimits limits_of(const ClassTable& classes, ClassIndex index, Tier tier) {
  if (index.value < classes.size()) return classes[index.value].limits;
  ClassLimits limits;
  limits.tier = tier;
  return limits;
}

}  // namespace takt
