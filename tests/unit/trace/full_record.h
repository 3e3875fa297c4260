// A record in which every field says something.
#pragma once

#include "trace/record.h"

namespace takt::trace {

inline Record full_record() {
  using std::chrono::milliseconds;
  Record record;
  record.request = 0xFEDCBA9876543210;
  record.arrival = milliseconds(1500);
  record.wall_nanoseconds = 1'800'000'000'123'456'789;
  record.application = "chat \"with\" quotes\n";
  record.tenant = "t1";
  record.user = "u1";
  record.service_class = "chat";
  record.task = "rag";
  record.model = "m";
  record.tier = Tier::kBatch;
  record.targets = {milliseconds(1000), milliseconds(100), milliseconds(9000), milliseconds(30000)};
  record.deadline = milliseconds(700);
  record.work = Work::kEmbed;
  record.sampling = SamplingKind::kRandom;
  record.stream = true;
  record.choices = 2;
  record.max_tokens = 512;
  record.prompt_tokens = 40;
  record.cached_tokens = 16;
  record.output_tokens = 7;
  record.chunks = 3;
  record.preemptions = 1;
  record.blocks = {16, {1, 0xFFFFFFFFFFFFFFFF}};
  record.session = "s";
  record.turn = 4;
  record.parent = 77;
  record.think_time = Duration(0);
  record.outcome = Outcome::kFailed;
  record.error = "internal";
  record.finish = FinishReason::kFailed;
  record.timings = {milliseconds(1), milliseconds(2), milliseconds(3),
                    milliseconds(4), milliseconds(5), milliseconds(6)};
  record.prompt_text = "p";
  record.answer_text = "";
  return record;
}

}  // namespace takt::trace
