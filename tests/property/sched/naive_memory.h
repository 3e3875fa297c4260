// Who gets which blocks by the rules of docs/scheduling.md, computed the slow way: who runs on, who loses how much of
// its tail to whom, who enters with how much of its prompt in memory and how many blocks. First come, first served;
// greedy admission; step time is taken to be endless, and no class has limits of its own.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/step.h"
#include "sched/options.h"
#include "sched/sequence.h"

namespace takt::testing {

class NaiveMemory {
 public:
  static constexpr std::uint32_t kBlock = 16;

  NaiveMemory(const SchedulerOptions& options, std::uint32_t blocks) : options_(options), total_(blocks) {}

  // `cached`: tokens of its prompt that are in memory when it starts with nothing.
  void add(const SequenceFacts& facts, std::uint32_t cached) {
    sequences_[facts.id] = {facts, cached, ++arrivals_, State::kQueued, facts.prompt_tokens};
  }
  void remove(SequenceId id) { sequences_.erase(id); }

  // Entries as "id@first position:cover", a + in front of those that enter, drops as "-id@tokens kept by tier".
  std::string decide() {
    begin();
    for (const Tier tier : kTiers) {
      run_on(tier);
      let_in(tier);
    }
    return text();
  }

  // The step was done as decided.
  void follow() {
    for (auto& [id, s] : sequences_) {
      if (s.lost) {
        if (s.state == State::kRunning && s.lost_to == s.facts.tier) ++s.by_own_tier;
        if (s.state == State::kRunning) s.state = State::kResuming;
        s.is_protected = false;
        s.cover = std::min(s.cover, s.keep);
        s.computed = std::min(s.computed, s.keep);
        s.shared = std::min(s.shared, s.keep);
      }
      if (!s.in_step) continue;
      if (s.state != State::kRunning) {
        if (s.cover == 0) s.shared = s.first;
        s.is_protected = s.by_own_tier >= options_.protect_after;
        s.state = State::kRunning;
      }
      s.cover = s.reach;
      s.computed = s.known;
      if (s.known < s.facts.limit_tokens) ++s.known;
    }
  }

 private:
  enum class State : std::uint8_t { kQueued, kResuming, kRunning };
  struct Sequence {
    SequenceFacts facts;
    std::uint32_t cached = 0;
    std::uint64_t order = 0;
    State state = State::kQueued;
    std::uint32_t known = 0;
    std::uint32_t computed = 0;
    std::uint32_t cover = 0;
    std::uint32_t shared = 0;  // of that, in blocks that others hold too
    std::uint32_t by_own_tier = 0;
    bool is_protected = false;
    // Of the step under way.
    bool in_step = false;
    bool lost = false;
    Tier lost_to = Tier::kRealtime;
    std::uint32_t keep = 0;
    std::uint32_t first = 0;
    std::uint32_t reach = 0;
  };

  static std::uint32_t blocks(std::uint32_t tokens) { return (tokens + kBlock - 1) / kBlock; }
  static bool below(const Sequence& a, const Sequence& b) {
    return a.facts.tier != b.facts.tier ? a.facts.tier > b.facts.tier : a.order > b.order;
  }

  void begin() {
    available_ = total_;
    seats_ = options_.max_sequences;
    admitted_ = 0;
    ran_ = false;
    short_of_blocks_ = false;
    closed_from_.reset();
    for (auto& [id, s] : sequences_) {
      s.in_step = s.lost = false;
      s.keep = s.cover;
      available_ -= blocks(s.cover) - blocks(s.shared);
      if (s.state != State::kRunning) continue;
      ran_ = true;
      --seats_;
    }
  }

  std::vector<Sequence*> in_order(Tier tier, State state) {
    std::vector<Sequence*> found;
    for (auto& [id, s] : sequences_) {
      if (s.facts.tier == tier && s.state == state) found.push_back(&s);
    }
    std::sort(found.begin(), found.end(), [](auto* a, auto* b) { return a->order < b->order; });
    return found;
  }

  void close(Tier tier) { closed_from_ = closed_from_ ? std::min(*closed_from_, tier) : tier; }

  void run_on(Tier tier) {
    for (Sequence* s : in_order(tier, State::kRunning)) {
      if (s->lost) continue;
      const std::uint32_t reach = std::max(s->cover, s->computed + 1);
      const std::uint32_t need = blocks(reach) - blocks(s->cover);
      while (need > available_) {
        close(tier);
        if (!take_tail(*s, need, true)) break;
      }
      if (need > available_) {
        lose(*s, s->computed, tier);
        continue;
      }
      available_ -= need;
      enter_step(*s, s->computed, reach);
    }
  }

  // A tail of the lowest, newest holder goes to `taker`, as far as it needs it.
  bool take_tail(const Sequence& taker, std::uint32_t wanted, bool for_running, bool with_shared = false) {
    Sequence* victim = nullptr;
    for (auto& [id, s] : sequences_) {
      if (&s == &taker || s.in_step || s.keep == 0 || !below(s, taker)) continue;
      if (!with_shared && s.keep <= s.shared) continue;
      const bool runs = s.state == State::kRunning && !s.lost;
      if (runs && s.facts.tier == taker.facts.tier && (!for_running || s.is_protected)) continue;
      if (victim == nullptr || below(s, *victim)) victim = &s;
    }
    if (victim == nullptr) return false;
    if (with_shared) {
      lose(*victim, 0, taker.facts.tier);
      return true;
    }
    std::uint32_t keep = victim->keep;
    const auto freed = [&] { return blocks(victim->keep) - blocks(keep); };
    while (keep > victim->shared && available_ + freed() < wanted)
      keep = std::max(victim->shared, (keep - 1) / kBlock * kBlock);
    available_ += freed();
    if (victim->facts.tier > taker.facts.tier) close(victim->facts.tier);
    lose(*victim, keep, taker.facts.tier);
    return true;
  }

  static void lose(Sequence& s, std::uint32_t keep, Tier to) {
    s.lost = true;
    s.keep = std::min(s.keep, keep);
    s.lost_to = to;
  }

  void enter_step(Sequence& s, std::uint32_t first, std::uint32_t reach) {
    s.in_step = true;
    s.first = first;
    s.reach = reach;
  }

  enum class Obstacle : std::uint8_t { kNone, kRoom, kClosed };

  void let_in(Tier tier) {
    bool all = true;
    for (Sequence* s : in_order(tier, State::kResuming)) {
      const Obstacle found = try_to_enter(*s);
      all = all && found == Obstacle::kNone;
      if (found == Obstacle::kClosed) break;
    }
    if (!all) return;
    for (Sequence* s : in_order(tier, State::kQueued)) {
      if (try_to_enter(*s) != Obstacle::kNone) return;
    }
  }

  Obstacle try_to_enter(Sequence& s) {
    if (closed_from_ && s.facts.tier >= *closed_from_) return Obstacle::kClosed;
    Sequence* seat_holder = seats_ == 0 ? seat_victim(s) : nullptr;
    if (seats_ == 0 && seat_holder == nullptr) return Obstacle::kRoom;
    if (short_of_blocks_) return Obstacle::kRoom;
    const bool from_nothing = s.cover == 0;
    const std::uint32_t first = from_nothing ? s.cached : s.computed;
    const std::uint32_t held = from_nothing ? blocks(first) : blocks(s.cover);
    const bool wants_all = s.by_own_tier >= options_.protect_after;
    const std::uint32_t reach = std::max({wants_all ? s.facts.limit_tokens : s.known, s.facts.reserve_tokens, s.cover});
    const std::uint32_t need = blocks(reach) - held;
    const bool alone = !ran_ && admitted_ == 0;
    const std::uint32_t spare = alone ? 0 : static_cast<std::uint32_t>(std::ceil(options_.watermark * total_));
    const bool in_vain = s.lost || (seat_holder != nullptr && need + spare > in_reach(s, seat_holder));
    if (!in_vain && seat_holder != nullptr) take_seat(s, *seat_holder);
    if (in_vain || !make_room(s, need + spare, alone)) {
      short_of_blocks_ = true;
      return Obstacle::kRoom;
    }
    available_ -= need;
    --seats_;
    ++admitted_;
    enter_step(s, first, reach);
    return Obstacle::kNone;
  }

  // Blocks that are free or in tails that it may take; that of `seat_holder` counts too.
  std::uint32_t in_reach(const Sequence& taker, const Sequence* seat_holder) const {
    std::uint32_t found = available_;
    for (const auto& [id, s] : sequences_) {
      if (&s == &taker || s.in_step || s.keep <= s.shared || !below(s, taker)) continue;
      const bool runs = s.state == State::kRunning && !s.lost;
      if (runs && s.facts.tier == taker.facts.tier && &s != seat_holder) continue;
      found += blocks(s.keep) - blocks(s.shared);
    }
    return found;
  }

  // Nobody gives up anything in vain.
  bool make_room(const Sequence& s, std::uint32_t wanted, bool last_resort) {
    if (!last_resort && wanted > in_reach(s, nullptr)) return false;
    while (wanted > available_) {
      if (!take_tail(s, wanted, false) && !(last_resort && take_tail(s, wanted, false, true))) return false;
    }
    return true;
  }

  Sequence* seat_victim(const Sequence& taker) {
    Sequence* victim = nullptr;
    for (auto& [id, s] : sequences_) {
      const bool runs = s.state == State::kRunning && !s.lost && !s.in_step;
      if (runs && s.facts.tier > taker.facts.tier && (victim == nullptr || below(s, *victim))) victim = &s;
    }
    return victim;
  }
  void take_seat(const Sequence& taker, Sequence& victim) {
    close(victim.facts.tier);
    lose(victim, victim.keep, taker.facts.tier);
    ++seats_;
  }

  std::string text() const {
    std::string text;
    for (const auto& [id, s] : sequences_) {
      if (s.lost) text += drop_text(id, s.keep, s.lost_to);
      if (s.in_step) text += entry_text(id, s.state != State::kRunning, s.first, s.reach);
    }
    return text;
  }

 public:
  static std::string drop_text(SequenceId id, std::uint32_t keep, Tier to) {
    return "-" + std::to_string(id.value) + "@" + std::to_string(keep) + (to == Tier::kBatch ? "b " : "r ");
  }
  static std::string entry_text(SequenceId id, bool enters, std::uint32_t first, std::uint32_t reach) {
    return (enters ? "+" : "") + std::to_string(id.value) + "@" + std::to_string(first) + ":" + std::to_string(reach) +
           " ";
  }
  // The same of a plan, in the same order.
  static std::string text_of(const StepPlan& plan) {
    std::map<SequenceId, std::string> of;
    for (const PlanDrop& drop : plan.drops)
      of[drop.sequence] += drop_text(drop.sequence, drop.keep_tokens, drop.in_favour_of);
    for (const PlanEntry& e : plan.entries)
      of[e.sequence] += entry_text(e.sequence, e.admits, e.first_position, e.cover_tokens);
    std::string text;
    for (const auto& [id, line] : of) text += line;
    return text;
  }

 private:
  SchedulerOptions options_;
  std::uint32_t total_;
  std::map<SequenceId, Sequence> sequences_;
  std::uint64_t arrivals_ = 0;
  // Of the step under way.
  std::uint32_t available_ = 0;
  std::uint32_t seats_ = 0;
  std::uint32_t admitted_ = 0;
  bool ran_ = false;
  bool short_of_blocks_ = false;
  std::optional<Tier> closed_from_;
};

}  // namespace takt::testing
