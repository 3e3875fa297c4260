// Requests and their sequences while they live: the one owner of their tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "core/event.h"
#include "core/request.h"
#include "core/wait_reason.h"
#include "engine/door.h"

namespace takt {

struct RequestRecord;

struct SequenceRecord {
  SequenceId id;
  RequestRecord* request = nullptr;
  std::uint32_t choice = 0;
  std::uint64_t seed = 0;
  std::vector<TokenId> known;     // prompt, then generated
  std::uint32_t scored_rows = 0;  // prompt rows whose logprobs were published
  bool open_in_executor = false;
  bool over = false;
  std::uint32_t failed_steps = 0;  // in a row
  TimePoint last_progress{};

  std::uint32_t generated() const;
};

struct RequestRecord {
  EngineRequest request;
  Door::Ticket ticket;
  std::uint32_t limit_tokens = 0;
  std::vector<SequenceRecord> sequences;  // index = choice; never resized
  std::uint32_t choices_left = 0;
  bool admitted = false;
  std::uint32_t cached_tokens = 0;
  std::uint32_t preemptions = 0;   // of choices that are over
  WaitTimes waited{};              // of choices that are over
  std::uint32_t prompt_steps = 0;  // that computed prompt tokens of the first choice

  RequestPhase phase() const;
};

class SequenceStore {
 public:
  // Gives every choice its id. `request.choices` is at least 1. Takes request and ticket; when it throws, both stay as
  // they are, and so does the store.
  RequestRecord& add(EngineRequest& request, Door::Ticket& ticket, std::uint32_t limit_tokens, TimePoint now);
  void erase(RequestId request);

  RequestRecord* find(RequestId request);
  const RequestRecord* find(RequestId request) const;
  SequenceRecord* find(SequenceId sequence);
  const SequenceRecord* find(SequenceId sequence) const;

  bool empty() const { return requests_.empty(); }
  std::size_t size() const { return requests_.size(); }
  std::vector<RequestId> ids() const;

 private:
  std::unordered_map<RequestId, std::unique_ptr<RequestRecord>> requests_;
  std::unordered_map<SequenceId, SequenceRecord*> sequences_;
  std::uint64_t last_sequence_ = 0;
};

}  // namespace takt
