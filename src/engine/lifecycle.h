// A request's way in and out: every owner of its state is told here, and nowhere else.
#pragma once

#include "base/clock.h"
#include "core/event.h"
#include "core/submitter.h"
#include "engine/door.h"
#include "engine/event_log.h"
#include "engine/mailbox.h"
#include "engine/sequence_store.h"
#include "engine/swap_traffic.h"
#include "exec/executor.h"
#include "kv/kv_cache.h"
#include "sched/scheduler.h"
#include "sched/tape.h"

namespace takt {

// Why a request ends for which there is no memory.
Error out_of_memory();

// All that must hear of a request's coming and going.
struct LifecycleParts {
  Executor& executor;
  KvCache& kv;
  Scheduler& scheduler;
  Door& door;
  EventLog& events;
  SwapTraffic& swap;
  SchedulerTape* tape = nullptr;  // null where nothing is recorded
};

class Lifecycle {
 public:
  explicit Lifecycle(const LifecycleParts& parts)
      : executor_(parts.executor),
        kv_(parts.kv),
        scheduler_(parts.scheduler),
        door_(parts.door),
        events_(parts.events),
        swap_(parts.swap),
        tape_(parts.tape) {}

  // When it throws, the command is as it was and nobody has heard of it. A request for which some owner of its state
  // has no memory is over, with the error.
  void accept(SubmitCommand& command, TimePoint now);
  // Ends a request that nobody has heard of. When it throws, the command is as it was.
  void refuse(SubmitCommand& command, const Error& error, TimePoint now);
  void cancel(RequestId request, CancelCause cause, TimePoint now);
  void finish_choice(RequestId request, std::uint32_t choice, TimePoint now);
  // Ends requests that waited too long before any of their work is done.
  void expire(TimePoint now);
  void end_request(RequestId request, FinishReason reason, const Error& error, TimePoint now);
  void end_all(const Error& error, TimePoint now);
  // Ends one choice. The record is gone afterwards if it was the request's last.
  void end_choice(SequenceRecord& sequence, FinishReason reason, Error error, TimePoint now);

  // The first sequence of the request has its blocks.
  void admitted(const SequenceRecord& sequence, std::uint32_t cached_tokens, TimePoint now);
  Status open_in_executor(SequenceRecord& sequence);
  void close_in_executor(SequenceRecord& sequence) noexcept;

  // The scheduler has other rules: what is not admitted yet takes blocks by the new ones.
  void reserve_anew(TimePoint now);

  SequenceStore& store() { return store_; }
  const SequenceStore& store() const { return store_; }

 private:
  std::uint32_t reserve_of(const RequestRecord& record) const;
  void enter_everywhere(const RequestRecord& record, TimePoint now);

  Executor& executor_;
  KvCache& kv_;
  Scheduler& scheduler_;
  Door& door_;
  EventLog& events_;
  SwapTraffic& swap_;
  SchedulerTape* tape_;
  SequenceStore store_;
};

}  // namespace takt
