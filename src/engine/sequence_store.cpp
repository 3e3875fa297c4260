#include "engine/sequence_store.h"

#include <algorithm>
#include <utility>

namespace takt {

std::uint32_t SequenceRecord::generated() const {
  return static_cast<std::uint32_t>(known.size() - request->request.prompt.size());
}

RequestPhase RequestRecord::phase() const {
  if (!admitted) return RequestPhase::kQueued;
  const bool decoding =
      std::any_of(sequences.begin(), sequences.end(), [](const SequenceRecord& s) { return s.generated() > 0; });
  return decoding ? RequestPhase::kDecode : RequestPhase::kPrefill;
}

RequestRecord& SequenceStore::add(EngineRequest& request, Door::Ticket& ticket, std::uint32_t limit_tokens,
                                  TimePoint now) {
  auto record = std::make_unique<RequestRecord>();
  record->limit_tokens = limit_tokens;
  record->choices_left = request.choices;
  record->sequences.resize(request.choices);
  for (std::uint32_t choice = 0; choice < request.choices; ++choice) {
    SequenceRecord& s = record->sequences[choice];
    s.id = SequenceId(++last_sequence_);
    s.request = record.get();
    s.choice = choice;
    s.seed = derive_seed(request.sampling.seed, choice);
    s.known = request.prompt;
    s.last_progress = now;
  }
  const auto place = requests_.emplace(request.id, nullptr).first;
  try {
    for (SequenceRecord& s : record->sequences) sequences_.emplace(s.id, &s);
  } catch (...) {
    for (const SequenceRecord& s : record->sequences) sequences_.erase(s.id);
    requests_.erase(place);
    throw;
  }
  record->request = std::move(request);
  record->ticket = std::move(ticket);
  place->second = std::move(record);
  return *place->second;
}

void SequenceStore::erase(RequestId request) {
  const auto it = requests_.find(request);
  if (it == requests_.end()) return;
  for (const SequenceRecord& s : it->second->sequences) sequences_.erase(s.id);
  requests_.erase(it);
}

RequestRecord* SequenceStore::find(RequestId request) {
  const auto it = requests_.find(request);
  return it == requests_.end() ? nullptr : it->second.get();
}

const RequestRecord* SequenceStore::find(RequestId request) const {
  const auto it = requests_.find(request);
  return it == requests_.end() ? nullptr : it->second.get();
}

SequenceRecord* SequenceStore::find(SequenceId sequence) {
  const auto it = sequences_.find(sequence);
  return it == sequences_.end() ? nullptr : it->second;
}

const SequenceRecord* SequenceStore::find(SequenceId sequence) const {
  const auto it = sequences_.find(sequence);
  return it == sequences_.end() ? nullptr : it->second;
}

std::vector<RequestId> SequenceStore::ids() const {
  std::vector<RequestId> ids;
  for (const auto& [id, record] : requests_) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace takt
