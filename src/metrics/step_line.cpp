#include "metrics/step_line.h"

#include <algorithm>
#include <boost/json.hpp>
#include <exception>
#include <limits>
#include <optional>
#include <type_traits>

#include "metrics/step_fields.h"

namespace takt::metrics {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxDepth = 8;
constexpr std::size_t kMaxModels = 1024;

// Thrown and caught inside this file only.
struct Malformed : std::exception {
  explicit Malformed(const char* text) : what_text(text) {}
  const char* what() const noexcept override { return what_text; }
  const char* what_text;
};

template <typename Number>
Number to(const json::value& value) {
  boost::system::error_code error;
  const auto number = value.is_number() ? value.to_number<Number>(error) : Number{};
  if (!value.is_number() || error) throw Malformed("a number is missing or too large");
  return number;
}

const json::array& list(const json::value& value, std::size_t least) {
  if (!value.is_array() || value.get_array().size() < least) throw Malformed("a list is missing or too short");
  return value.get_array();
}

const json::value* find(const json::object& from, std::string_view key) {
  return from.if_contains(key);
}

Duration nanoseconds(const json::value& value) {
  return Duration(to<std::int64_t>(value));
}

GroupCounts counts(const json::value& value) {
  GroupCounts result;
  const json::array& numbers = list(value, kMaxKvGroups);
  for (std::size_t g = 0; g < kMaxKvGroups; ++g) result.blocks[g] = to<std::uint32_t>(numbers[g]);
  return result;
}

struct FieldReader {
  const json::object& from;
  TimePoint base;

  template <typename Value>
  void operator()(const char* name, Value& value) const {
    if (const auto* found = find(from, name)) read(*found, value);
  }

 private:
  void read(const json::value& from_value, double& value) const { value = to<double>(from_value); }
  void read(const json::value& from_value, bool& value) const { value = to<std::int64_t>(from_value) != 0; }
  void read(const json::value& from_value, Duration& value) const { value = nanoseconds(from_value); }
  void read(const json::value& from_value, TimePoint& value) const { value = base + nanoseconds(from_value); }
  template <typename Tag, typename Rep>
  void read(const json::value& from_value, StrongId<Tag, Rep>& value) const {
    value = StrongId<Tag, Rep>(to<Rep>(from_value));
  }
  template <typename Value>
  void read(const json::value& from_value, std::optional<Value>& value) const {
    read(from_value, value.emplace());
  }
  void read(const json::value& from_value, ClassTable& classes) const {
    for (const json::value& item : list(from_value, 0)) {
      if (!item.is_object() || classes.size() >= kMostClasses) throw Malformed("there is a class too many");
      visit_class(classes.emplace_back(), FieldReader{item.get_object(), base});
    }
  }
  template <typename Value>
  requires std::is_enum_v<Value>
  void read(const json::value& from_value, Value& value) const {
    constexpr std::uint8_t kMostValues = 8;  // no such type has more
    const auto number = to<std::uint8_t>(from_value);
    if (number >= kMostValues) throw Malformed("a value is none of its kind");
    value = static_cast<Value>(number);
  }
  template <typename Value>
  requires std::is_integral_v<Value>
  void read(const json::value& from_value, Value& value) const { value = to<Value>(from_value); }
};

SequenceAdded read_added(const json::object& line, TimePoint now) {
  SequenceAdded added;
  const auto* request = find(line, "q");
  const auto* facts = find(line, "f");
  if (request == nullptr || facts == nullptr || !facts->is_object()) throw Malformed("a sequence has no facts");
  added.request = RequestId(to<std::uint64_t>(list(*request, 2)[0]));
  added.choice = to<std::uint32_t>(list(*request, 2)[1]);
  visit_facts(added.facts, FieldReader{facts->get_object(), now});
  const SequenceFacts& given = added.facts;
  if (given.tier > Tier::kBatch) throw Malformed("there is no such tier");
  if (given.prompt_tokens == 0 || given.limit_tokens < given.prompt_tokens || !(given.weight > 0.0))
    throw Malformed("a sequence's facts contradict each other");
  return added;
}

SchedulerOptions read_options(const json::object& line) {
  SchedulerOptions options;
  const auto* given = find(line, "options");
  if (given == nullptr || !given->is_object()) throw Malformed("options are missing");
  visit_options(options, FieldReader{given->get_object(), TimePoint{}});
  return options;
}

EngineStarted read_start(const json::object& line, const json::array& head, TapeState& state) {
  EngineStarted started;
  const auto* block_tokens = find(line, "block_tokens");
  const auto* alignment = find(line, "alignment");
  const auto* blocks = find(line, "blocks");
  const auto* terms = find(line, "terms");
  const bool complete = block_tokens != nullptr && alignment != nullptr && blocks != nullptr && terms != nullptr;
  if (!complete) throw Malformed("an engine's start is not complete");
  state = {};
  state.at = TimePoint(nanoseconds(head[0]));
  started.continued = to<int>(head[1]) != 0;
  state.step = StepId(to<std::uint64_t>(head[2]));
  started.options = read_options(line);
  started.memory.geometry.block_tokens = counts(*block_tokens).blocks;
  started.memory.geometry.alignment = std::max(1U, to<std::uint32_t>(*alignment));
  started.memory.total = counts(*blocks);
  const json::array& values = list(*terms, started.terms.size());
  for (std::size_t i = 0; i < started.terms.size(); ++i) started.terms[i] = to<double>(values[i]);
  if (const auto* arena = find(line, "arena")) started.memory.swap.total_pages = to<std::uint32_t>(*arena);
  state.geometry = started.memory.geometry;
  return started;
}

SequenceLives read_lives(const json::object& line, const json::array& where, TapeState& state) {
  SequenceLives lives;
  lives.added = read_added(line, state.at);
  lives.known = to<std::uint32_t>(where[0]);
  lives.computed = to<std::uint32_t>(where[1]);
  lives.cover = to<std::uint32_t>(where[2]);
  lives.running = to<int>(where[3]) != 0;
  lives.swapped_until = to<std::uint32_t>(where[4]);
  state.live[lives.added.facts.id] = lives;
  return lives;
}

PlanEntry read_entry(const json::array& numbers) {
  PlanEntry entry;
  entry.sequence = SequenceId(to<std::uint64_t>(numbers[0]));
  entry.first_position = to<std::uint32_t>(numbers[1]);
  entry.token_count = to<std::uint32_t>(numbers[2]);
  const auto flags = to<unsigned>(numbers[3]);
  entry.samples = (flags & 1U) != 0;
  entry.admits = (flags & 2U) != 0;
  entry.kind = (flags & 4U) != 0 ? EntryKind::kEmbed : EntryKind::kGenerate;
  entry.cover_tokens = to<std::uint32_t>(numbers[4]);
  return entry;
}

// See StepWriter::entries.
std::vector<PlanEntry> read_entries(const json::value* items, const TapeState& state) {
  std::vector<PlanEntry> entries;
  const std::vector<PlanEntry>& last = state.entries;
  std::size_t at = 0;
  const auto take_rows = [&](std::size_t count) {
    if (count > last.size() - at) throw Malformed("a plan goes on with more entries than there were");
    for (; count > 0; --count) entries.push_back(state.next_row(last[at++].sequence));
  };
  if (items == nullptr) {
    take_rows(last.size());
    return entries;
  }
  for (const json::value& item : list(*items, 0)) {
    if (item.is_array()) {
      entries.push_back(read_entry(list(item, 5)));
      if (at < last.size() && last[at].sequence == entries.back().sequence) ++at;
      continue;
    }
    const auto count = to<std::int64_t>(item);
    if (count > 0) {
      take_rows(static_cast<std::size_t>(count));
    } else {
      at += std::min(last.size() - at, static_cast<std::size_t>(-count));
    }
  }
  return entries;
}

void read_view(const json::object& line, CapacityView& view, const TapeState& state) {
  view.geometry = state.geometry;
  view.free = state.free;
  view.evictable = state.evictable;
  if (const auto* changed = find(line, "v")) {
    view.free = counts(list(*changed, 2)[0]);
    view.evictable = counts(list(*changed, 2)[1]);
  }
  if (const auto* prefixes = find(line, "x")) {
    for (const json::value& item : list(*prefixes, 0)) {
      const json::array& numbers = list(item, 3);
      view.prefixes.push_back(
          {SequenceId(to<std::uint64_t>(numbers[0])), to<std::uint32_t>(numbers[1]), counts(numbers[2])});
    }
  }
  if (const auto* tails = find(line, "t")) {
    for (const json::value& item : list(*tails, 0)) {
      const json::array& numbers = list(item, 2);
      view.tails.push_back({SequenceId(to<std::uint64_t>(numbers[0])), to<std::uint32_t>(numbers[1])});
    }
  }
  if (const auto* shared = find(line, "sh")) {
    for (const json::value& item : list(*shared, 0)) {
      const json::array& numbers = list(item, 2);
      view.shared.push_back({SequenceId(to<std::uint64_t>(numbers[0])), counts(numbers[1])});
    }
  }
}

void read_swap_view(const json::object& line, SwapView& view, const TapeState& state) {
  view = state.swap;
  if (const auto* changed = find(line, "j")) {
    const json::array& pages = list(list(*changed, 2)[0], 2);
    const json::array& seconds = list(list(*changed, 2)[1], 2);
    view.free_pages = to<std::uint32_t>(pages[0]);
    view.out_pages = to<std::uint32_t>(pages[1]);
    view.out_seconds = to<double>(seconds[0]);
    view.in_seconds = to<double>(seconds[1]);
  }
  if (const auto* arrivals = find(line, "ja")) {
    for (const json::value& item : list(*arrivals, 0)) {
      const json::array& numbers = list(item, 2);
      view.arrivals.push_back({SequenceId(to<std::uint64_t>(numbers[0])), to<std::uint32_t>(numbers[1])});
    }
  }
}

void read_swaps(const json::object& line, StepPlan& plan) {
  if (const auto* swap_ins = find(line, "i")) {
    for (const json::value& item : list(*swap_ins, 0)) {
      const json::array& numbers = list(item, 3);
      plan.swap_ins.push_back(
          {SequenceId(to<std::uint64_t>(numbers[0])), to<std::uint32_t>(numbers[1]), to<std::uint32_t>(numbers[2])});
    }
  }
  if (const auto* fetches = find(line, "g")) {
    for (const json::value& item : list(*fetches, 0)) plan.fetches.emplace_back(to<std::uint64_t>(item));
  }
}

std::vector<QueueWait> read_waits(const json::value& items) {
  std::vector<QueueWait> waits;
  for (const json::value& item : list(items, 0)) {
    const json::array& numbers = list(item, 5);
    QueueWait wait;
    wait.tier = static_cast<Tier>(std::min(1U, to<unsigned>(numbers[0])));
    wait.queue = static_cast<QueueKind>(std::min(2U, to<unsigned>(numbers[1])));
    wait.reason = static_cast<WaitReason>(std::min<unsigned>(kWaitReasonCount - 1, to<unsigned>(numbers[2])));
    wait.requests = to<std::uint32_t>(numbers[3]);
    wait.service_class = ClassIndex(to<std::uint32_t>(numbers[4]));
    waits.push_back(wait);
  }
  return waits;
}

void read_features(const json::object& line, StepPlan& plan) {
  plan.features = features_of(plan.entries);
  if (const auto* given = find(line, "u")) {
    const json::array& numbers = list(*given, 6);
    plan.features = {to<std::uint32_t>(numbers[0]), to<std::uint32_t>(numbers[1]), to<std::uint32_t>(numbers[2]),
                     to<std::uint32_t>(numbers[3]), to<std::uint64_t>(numbers[4]), to<std::uint32_t>(numbers[5])};
  }
}

StepPlanned read_plan(const json::object& line, const json::array& head, ModelIndex model, TapeState& state) {
  StepPlanned planned;
  StepPlan& plan = planned.plan;
  plan.model = model;
  plan.predicted = nanoseconds(head[1]);
  const auto* id = find(line, "n");
  plan.id = id != nullptr ? StepId(to<std::uint64_t>(*id)) : StepId(state.step.value + 1);
  plan.entries = read_entries(find(line, "e"), state);
  read_view(line, planned.view, state);
  read_swap_view(line, planned.view.swap, state);
  read_swaps(line, plan);
  if (const auto* drops = find(line, "d")) {
    for (const json::value& item : list(*drops, 0)) {
      const json::array& numbers = list(item, 4);
      plan.drops.push_back({SequenceId(to<std::uint64_t>(numbers[0])), to<std::uint32_t>(numbers[1]),
                            static_cast<Tier>(std::min(1U, to<unsigned>(numbers[2]))),
                            static_cast<PreemptionKind>(std::min(1U, to<unsigned>(numbers[3])))});
    }
  }
  const auto* waits = find(line, "w");
  plan.waits = waits != nullptr ? read_waits(*waits) : state.waits;
  const auto* budget = find(line, "b");
  plan.budget = budget != nullptr ? nanoseconds(*budget) : state.budget;
  plan.beat_overrun = find(line, "z") != nullptr;
  read_features(line, plan);
  state.plan(planned.view, plan);
  return planned;
}

StepDone read_done(const json::object& line, const json::array& head, TapeState& state) {
  StepDone done;
  done.measured = nanoseconds(head[1]);
  done.observed = find(line, "h") == nullptr;
  const auto* unusual = find(line, "s");
  std::size_t at = 0;
  for (const PlanEntry& entry : state.entries) {
    const json::array* item = nullptr;
    if (unusual != nullptr && at < list(*unusual, 0).size()) {
      const json::array& numbers = list(list(*unusual, 0)[at], 1);
      if (to<std::uint64_t>(numbers[0]) == entry.sequence.value) {
        item = &numbers;
        ++at;
      }
    }
    if (item == nullptr) {
      done.progress.push_back(state.usual_progress(entry));
    } else if (item->size() >= 3) {
      done.progress.push_back({entry.sequence, to<std::uint32_t>((*item)[1]), to<std::uint32_t>((*item)[2])});
    }
  }
  state.commit(done.progress);
  return done;
}

StepRecord read_record(const json::object& line, std::map<std::uint32_t, TapeState>& states) {
  StepRecord record;
  if (const auto* model = find(line, "m")) record.model = ModelIndex(to<std::uint32_t>(*model));
  if (record.model.value >= kMaxModels) throw Malformed("there are too many models");
  TapeState& state = states[record.model.value];
  if (const auto* start = find(line, "engine")) {
    record.what = read_start(line, list(*start, 3), state);
  } else if (const auto* lives = find(line, "l")) {
    record.what = read_lives(line, list(*lives, 5), state);
  } else if (const auto* added = find(line, "a")) {
    state.at += nanoseconds(*added);
    SequenceAdded sequence = read_added(line, state.at);
    if (state.live.contains(sequence.facts.id)) throw Malformed("a sequence comes twice");
    state.add(sequence);
    record.what = sequence;
  } else if (const auto* removed = find(line, "r")) {
    const json::array& numbers = list(*removed, 3);
    state.at += nanoseconds(numbers[0]);
    const SequenceRemoved gone{SequenceId(to<std::uint64_t>(numbers[1])), to<int>(numbers[2]) != 0};
    state.remove(gone.sequence);
    record.what = gone;
  } else if (const auto* changed = find(line, "o")) {
    state.at += nanoseconds(*changed);
    record.what = OptionsChanged{read_options(line)};
  } else if (const auto* reserve = find(line, "y")) {
    const json::array& numbers = list(*reserve, 3);
    state.at += nanoseconds(numbers[0]);
    const ReserveSet set{SequenceId(to<std::uint64_t>(numbers[1])), to<std::uint32_t>(numbers[2])};
    state.set_reserve(set);
    record.what = set;
  } else if (const auto* gone = find(line, "k")) {
    const json::array& numbers = list(*gone, 3);
    state.at += nanoseconds(numbers[0]);
    const SwappedLost lost{SequenceId(to<std::uint64_t>(numbers[1])), to<std::uint32_t>(numbers[2])};
    state.lose(lost);
    record.what = lost;
  } else if (const auto* planned = find(line, "p")) {
    state.at += nanoseconds(list(*planned, 2)[0]);
    record.what = read_plan(line, list(*planned, 2), record.model, state);
  } else if (const auto* committed = find(line, "c")) {
    state.at += nanoseconds(list(*committed, 2)[0]);
    record.what = read_done(line, list(*committed, 2), state);
  } else if (const auto* lost = find(line, "lost")) {
    record.what = RecordsLost{to<std::uint64_t>(*lost)};
  } else {
    throw Malformed("it is no record that is known");
  }
  record.at = state.at;
  return record;
}

}  // namespace

Result<StepRecord> parse_step_line(std::string_view line, std::map<std::uint32_t, TapeState>& states) {
  json::parse_options limits;
  limits.max_depth = kMaxDepth;
  boost::system::error_code failure;
  const json::value parsed = json::parse(line, failure, {}, limits);
  if (failure || !parsed.is_object()) return Error::invalid("", "it is no JSON object");
  try {
    return read_record(parsed.get_object(), states);
  } catch (const std::exception& error) {
    return Error::invalid("", error.what());
  }
}

}  // namespace takt::metrics
