// Drives a scheduler without memory, executor or engine: blocks are counted from what the sequences' tables must reach.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>

#include "sched/scheduler.h"
#include "support/plain_step_time.h"

namespace takt::testing {

using PlainModel = PlainStepTime;

struct SchedulerDriver {
  explicit SchedulerDriver(SchedulerOptions options, std::uint32_t blocks = 1000) : scheduler(options, ModelIndex(0)) {
    view.geometry.block_tokens[0] = 16;
    view.geometry.alignment = 16;
    view.total.blocks[0] = blocks;
  }

  void add(std::uint64_t id, std::uint32_t prompt, std::uint32_t output = 100, Tier tier = Tier::kRealtime) {
    SequenceFacts facts;
    facts.id = SequenceId(id);
    facts.tier = tier;
    facts.itl_target = std::chrono::milliseconds(100);
    facts.prompt_tokens = prompt;
    facts.limit_tokens = prompt + output;
    scheduler.add(facts, now);
  }

  StepPlan plan() {
    std::uint32_t used = 0;
    view.prefixes.clear();
    view.tails.clear();
    for (const SequenceView& s : scheduler.look(1000)) used += (s.cover + 15) / 16;
    view.free.blocks[0] = view.total.blocks[0] - used;
    for (const auto& [id, tokens] : cached) {
      view.prefixes.push_back({SequenceId(id), tokens, {}});
    }
    for (const SequenceId id : scheduler.holders(view)) view.tails.push_back({id, 0});
    return scheduler.plan(now, view, model);
  }

  // One whole step. Ends sequences at their limit. "1:16 2:1!" = sequence 1 gets 16 tokens, sequence 2 gets one and
  // samples.
  std::string step() {
    const StepPlan p = plan();
    scheduler.apply_drops(p, now);
    scheduler.apply_swap_ins(p);
    std::vector<SequenceProgress> progress;
    std::ostringstream line;
    std::map<std::uint64_t, SequenceView> before;
    for (const SequenceView& s : scheduler.look(1000)) before[s.sequence.value] = s;
    for (const PlanDrop& drop : p.drops) line << "-" << drop.sequence.value << "@" << drop.keep_tokens << " ";
    for (const PlanEntry& e : p.entries) {
      line << e.sequence.value << ":" << e.token_count << (e.samples ? "! " : " ");
      const SequenceView& s = before[e.sequence.value];
      progress.push_back({e.sequence, s.known + (e.samples ? 1 : 0), e.first_position + e.token_count});
    }
    now += p.entries.empty() ? Duration(std::chrono::milliseconds(1)) : p.predicted;
    scheduler.commit(p, progress, now);
    last = p;
    std::string text = line.str();
    if (!text.empty()) text.pop_back();
    return text;
  }

  void expect_steps(std::initializer_list<const char*> lines) {
    int n = 0;
    for (const char* line : lines) EXPECT_EQ(step(), line) << "step " << ++n;
  }

  Scheduler scheduler;
  CapacityView view;
  PlainModel model;
  TimePoint now{std::chrono::seconds(1)};
  std::map<std::uint64_t, std::uint32_t> cached;  // sequence -> cached prefix tokens
  StepPlan last;
};

}  // namespace takt::testing
