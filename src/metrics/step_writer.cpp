#include "metrics/step_writer.h"

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>
#include <optional>
#include <string_view>
#include <type_traits>

#include "metrics/step_fields.h"

namespace takt::metrics {
namespace {

template <typename Number>
void put(std::string& out, Number number) {
  char text[32];
  const auto end = std::to_chars(std::begin(text), std::end(text), number).ptr;
  out.append(text, end);
}

template <typename... Numbers>
void put_list(std::string& out, Numbers... numbers) {
  char separator = '[';
  const auto put_one = [&](auto number) {
    out += separator;
    put(out, number);
    separator = ',';
  };
  (put_one(numbers), ...);
  out += ']';
}

void put_counts(std::string& out, const GroupCounts& counts) {
  char separator = '[';
  for (const std::uint32_t count : counts.blocks) {
    out += separator;
    put(out, count);
    separator = ',';
  }
  out += ']';
}

void put_key(std::string& out, std::string_view key) {
  if (out.back() != '{') out += ',';
  out += '"';
  out += key;
  out += "\":";
}

template <typename Struct, typename VisitFields>
void put_fields(std::string& out, const Struct& fields, TimePoint base, VisitFields visit_fields);

constexpr auto kFacts = [](auto& facts, auto&& visit) { visit_facts(facts, visit); };
constexpr auto kClass = [](auto& service_class, auto&& visit) { visit_class(service_class, visit); };
constexpr auto kOptions = [](auto& options, auto&& visit) { visit_options(options, visit); };

// Values as numbers; a time as nanoseconds from `base` on.
struct FieldWriter {
  std::string& out;
  TimePoint base;

  void operator()(double value) const { put(out, value); }
  void operator()(Duration value) const { put(out, value.count()); }
  void operator()(TimePoint value) const { put(out, (value - base).count()); }
  template <typename Tag, typename Rep>
  void operator()(const StrongId<Tag, Rep>& value) const {
    put(out, value.value);
  }
  template <typename Value>
  void operator()(const std::optional<Value>& value) const {
    (*this)(*value);
  }
  void operator()(const ClassTable& classes) const {
    char separator = '[';
    for (const EngineClass& service_class : classes) {
      out += separator;
      put_fields(out, service_class, base, kClass);
      separator = ',';
    }
    out += ']';
  }
  template <typename Value>
  requires(std::is_enum_v<Value> || std::is_integral_v<Value>) void operator()(Value value) const {
    put(out, static_cast<std::int64_t>(value));
  }
};

template <typename Value>
bool is_usual(const Value& value, const Value& usual) {
  return value == usual;
}
bool is_usual(const ClassTable& classes, const ClassTable& /*usual*/) {
  return classes.empty();
}

// The fields that are not as in a value that nobody has set.
template <typename Struct, typename VisitFields>
void put_fields(std::string& out, const Struct& fields, TimePoint base, VisitFields visit_fields) {
  const Struct defaults{};
  std::vector<const void*> usual;
  visit_fields(defaults, [&](const char*, const auto& value) { usual.push_back(&value); });
  std::size_t at = 0;
  out += '{';
  visit_fields(fields, [&](const char* name, const auto& value) {
    using Value = std::decay_t<decltype(value)>;
    if (is_usual(value, *static_cast<const Value*>(usual[at++]))) return;
    put_key(out, name);
    FieldWriter{out, base}(value);
  });
  out += '}';
}

unsigned flags_of(const PlanEntry& entry) {
  return (entry.samples ? 1U : 0U) | (entry.admits ? 2U : 0U) | (entry.kind == EntryKind::kEmbed ? 4U : 0U);
}

bool equal(const PlanEntry& a, const PlanEntry& b) {
  return a.sequence == b.sequence && a.first_position == b.first_position && a.token_count == b.token_count &&
         a.cover_tokens == b.cover_tokens && flags_of(a) == flags_of(b);
}

bool equal(const std::vector<QueueWait>& a, const std::vector<QueueWait>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const QueueWait& x, const QueueWait& y) {
    return x.tier == y.tier && x.queue == y.queue && x.reason == y.reason && x.requests == y.requests &&
           x.service_class == y.service_class;
  });
}

bool equal(const StepFeatures& a, const StepFeatures& b) {
  return a.tokens == b.tokens && a.decode_rows == b.decode_rows && a.padding_rows == b.padding_rows &&
         a.logits_rows == b.logits_rows && a.attended_positions == b.attended_positions &&
         a.swapped_blocks == b.swapped_blocks;
}

// Items of a list, each written by `put_item`, under a key; nothing for an empty list.
template <typename List, typename PutItem>
void put_items(std::string& out, std::string_view key, const List& list, PutItem put_item) {
  if (list.empty()) return;
  put_key(out, key);
  char separator = '[';
  for (const auto& item : list) {
    out += separator;
    put_item(item);
    separator = ',';
  }
  out += ']';
}

}  // namespace

std::string step_log_head(const std::vector<std::string>& model_names, std::int64_t run, std::uint64_t part) {
  namespace json = boost::json;
  json::array models(model_names.begin(), model_names.end());
  return json::serialize(json::object{{"format", "takt-step-log"},
                                      {"version", kStepLogVersion},
                                      {"run", run},
                                      {"part", part},
                                      {"models", std::move(models)}}) +
         '\n';
}

void StepWriter::open(std::string& out) const {
  out += '{';
  if (model_.value == 0) return;
  put_key(out, "m");
  put(out, model_.value);
}

// Gives the time since the record before.
std::int64_t StepWriter::begin(std::string& out, TimePoint now) {
  open(out);
  const Duration since = now - state_.at;
  state_.at = now;
  return since.count();
}

void StepWriter::end(std::string& out) const {
  out += "}\n";
}

void StepWriter::put_start(std::string& out, bool continued) const {
  open(out);
  put_key(out, "engine");
  put_list(out, state_.at.time_since_epoch().count(), continued ? 1 : 0, state_.step.value);
  put_key(out, "options");
  put_fields(out, started_.options, TimePoint{}, kOptions);
  const CapacityView& memory = started_.memory;
  put_key(out, "block_tokens");
  put_counts(out, {memory.geometry.block_tokens});
  put_key(out, "alignment");
  put(out, memory.geometry.alignment);
  put_key(out, "blocks");
  put_counts(out, memory.total);
  put_key(out, "terms");
  put_list(out, started_.terms[0], started_.terms[1], started_.terms[2], started_.terms[3]);
  put_key(out, "arena");
  put(out, memory.swap.total_pages);
  out += "}\n";
}

void StepWriter::start(std::string& out, const EngineStarted& started, TimePoint now) {
  started_ = started;
  state_ = {};
  state_.at = now;
  state_.geometry = started.memory.geometry;
  put_start(out, false);
}

void StepWriter::resume(std::string& out) {
  put_start(out, true);
  for (const auto& [id, lives] : state_.live) {
    open(out);
    put_key(out, "l");
    put_list(out, lives.known, lives.computed, lives.cover, lives.running ? 1 : 0, lives.swapped_until);
    put_key(out, "q");
    put_list(out, lives.added.request.value, lives.added.choice);
    put_key(out, "f");
    put_fields(out, lives.added.facts, state_.at, kFacts);
    out += "}\n";
  }
  state_.free = state_.evictable = {};
  state_.swap = {};
  state_.budget = {};
  state_.waits.clear();
  state_.entries.clear();
}

void StepWriter::add(std::string& out, const SequenceAdded& added, TimePoint now) {
  const std::int64_t since = begin(out, now);
  put_key(out, "a");
  put(out, since);
  put_key(out, "q");
  put_list(out, added.request.value, added.choice);
  put_key(out, "f");
  put_fields(out, added.facts, now, kFacts);
  end(out);
  state_.add(added);
}

void StepWriter::remove(std::string& out, const SequenceRemoved& removed, TimePoint now) {
  const std::int64_t since = begin(out, now);
  put_key(out, "r");
  put_list(out, since, removed.sequence.value, removed.natural_end ? 1 : 0);
  end(out);
  state_.remove(removed.sequence);
}

void StepWriter::change(std::string& out, const SchedulerOptions& options, TimePoint now) {
  const std::int64_t since = begin(out, now);
  put_key(out, "o");
  put(out, since);
  put_key(out, "options");
  put_fields(out, options, TimePoint{}, kOptions);
  end(out);
  started_.options = options;
}

void StepWriter::set_reserve(std::string& out, const ReserveSet& reserve, TimePoint now) {
  const std::int64_t since = begin(out, now);
  put_key(out, "y");
  put_list(out, since, reserve.sequence.value, reserve.tokens);
  end(out);
  state_.set_reserve(reserve);
}

void StepWriter::lose(std::string& out, const SwappedLost& lost, TimePoint now) {
  const std::int64_t since = begin(out, now);
  put_key(out, "k");
  put_list(out, since, lost.sequence.value, lost.computed);
  end(out);
  state_.lose(lost);
}

// A number n: the next n entries of the last plan go on with a row each. -n: n of them are not in this plan. A list: an
// entry in full; where it is the last plan's next one, it takes its place.
void StepWriter::entries(std::string& out, const StepPlan& plan) const {
  const std::size_t start = out.size();
  put_key(out, "e");
  out += '[';
  const std::size_t first_item = out.size();
  std::size_t at = 0;  // in the last plan's entries
  std::int64_t rows = 0;
  const auto separate = [&] {
    if (out.size() > first_item) out += ',';
  };
  const auto flush = [&] {
    if (rows == 0) return;
    separate();
    put(out, rows);
    rows = 0;
  };
  const std::vector<PlanEntry>& last = state_.entries;
  for (const PlanEntry& entry : plan.entries) {
    const auto found = std::find_if(last.begin() + static_cast<std::ptrdiff_t>(at), last.end(),
                                    [&](const PlanEntry& other) { return other.sequence == entry.sequence; });
    if (found != last.end()) {
      const auto skipped = (found - last.begin()) - static_cast<std::ptrdiff_t>(at);
      if (skipped > 0) {
        flush();
        separate();
        put(out, -skipped);
      }
      at = static_cast<std::size_t>(found - last.begin()) + 1;
      if (equal(entry, state_.next_row(entry.sequence))) {
        ++rows;
        continue;
      }
    }
    flush();
    separate();
    put_list(out, entry.sequence.value, entry.first_position, entry.token_count, flags_of(entry), entry.cover_tokens);
  }
  const bool as_before = rows == static_cast<std::int64_t>(last.size()) && out.size() == first_item;
  if (as_before) {
    out.resize(start);
    return;
  }
  flush();
  out += ']';
}

void StepWriter::view(std::string& out, const CapacityView& view) const {
  if (view.free != state_.free || view.evictable != state_.evictable) {
    put_key(out, "v");
    out += '[';
    put_counts(out, view.free);
    out += ',';
    put_counts(out, view.evictable);
    out += ']';
  }
  std::vector<const CachedPrefix*> found;
  for (const CachedPrefix& prefix : view.prefixes) {
    if (prefix.tokens > 0 || !prefix.evictable.none()) found.push_back(&prefix);
  }
  put_items(out, "x", found, [&](const CachedPrefix* prefix) {
    out += '[';
    put(out, prefix->sequence.value);
    out += ',';
    put(out, prefix->tokens);
    out += ',';
    put_counts(out, prefix->evictable);
    out += ']';
  });
  put_items(out, "t", view.tails,
            [&](const HeldTail& tail) { put_list(out, tail.sequence.value, tail.exclusive_from); });
  put_items(out, "sh", view.shared, [&](const SharedBlocks& shared) {
    out += '[';
    put(out, shared.sequence.value);
    out += ',';
    put_counts(out, shared.blocks);
    out += ']';
  });
  const SwapView& swap = view.swap;
  const SwapView& last = state_.swap;
  if (swap.total_pages > 0 && (swap.free_pages != last.free_pages || swap.out_pages != last.out_pages ||
                               swap.out_seconds != last.out_seconds || swap.in_seconds != last.in_seconds)) {
    put_key(out, "j");
    out += '[';
    put_list(out, swap.free_pages, swap.out_pages);
    out += ',';
    put_list(out, swap.out_seconds, swap.in_seconds);
    out += ']';
  }
  put_items(out, "ja", swap.arrivals,
            [&](const SwapArrival& arrival) { put_list(out, arrival.sequence.value, arrival.pages); });
}

void StepWriter::plan(std::string& out, const CapacityView& capacity, const StepPlan& plan, TimePoint now) {
  const std::int64_t since = begin(out, now);
  put_key(out, "p");
  put_list(out, since, plan.predicted.count());
  if (plan.id.value != state_.step.value + 1) {
    put_key(out, "n");
    put(out, plan.id.value);
  }
  entries(out, plan);
  view(out, capacity);
  put_items(out, "d", plan.drops, [&](const PlanDrop& drop) {
    put_list(out, drop.sequence.value, drop.keep_tokens, static_cast<unsigned>(drop.in_favour_of),
             static_cast<unsigned>(drop.kind));
  });
  put_items(out, "i", plan.swap_ins, [&](const PlanSwapIn& swap_in) {
    put_list(out, swap_in.sequence.value, swap_in.computed, swap_in.cover_tokens);
  });
  put_items(out, "g", plan.fetches, [&](SequenceId sequence) { put(out, sequence.value); });
  if (!equal(plan.waits, state_.waits)) {
    put_key(out, "w");
    out += '[';
    for (std::size_t i = 0; i < plan.waits.size(); ++i) {
      const QueueWait& wait = plan.waits[i];
      if (i > 0) out += ',';
      put_list(out, static_cast<unsigned>(wait.tier), static_cast<unsigned>(wait.queue),
               static_cast<unsigned>(wait.reason), wait.requests, wait.service_class.value);
    }
    out += ']';
  }
  if (plan.budget != state_.budget) {
    put_key(out, "b");
    put(out, plan.budget.count());
  }
  if (plan.beat_overrun) out += ",\"z\":1";
  if (!equal(plan.features, features_of(plan.entries))) {
    put_key(out, "u");
    const StepFeatures& f = plan.features;
    put_list(out, f.tokens, f.decode_rows, f.padding_rows, f.logits_rows, f.attended_positions, f.swapped_blocks);
  }
  end(out);
  state_.plan(capacity, plan);
}

void StepWriter::commit(std::string& out, std::span<const SequenceProgress> progress, Duration measured, bool observed,
                        TimePoint now) {
  const std::int64_t since = begin(out, now);
  put_key(out, "c");
  put_list(out, since, measured.count());
  if (!observed) out += ",\"h\":1";
  // What is unusual: [sequence, known, computed], or [sequence] for one that stays as it was.
  bool any = false;
  const auto open = [&] {
    if (any) {
      out += ',';
    } else {
      out += ",\"s\":[";
    }
    any = true;
  };
  std::size_t at = 0;
  for (const PlanEntry& entry : state_.entries) {
    if (at == progress.size() || progress[at].sequence != entry.sequence) {
      open();
      put_list(out, entry.sequence.value);
      continue;
    }
    const SequenceProgress& step = progress[at++];
    const SequenceProgress usual = state_.usual_progress(entry);
    if (step.known == usual.known && step.computed == usual.computed) continue;
    open();
    put_list(out, entry.sequence.value, step.known, step.computed);
  }
  if (any) out += ']';
  end(out);
  state_.commit(progress);
}

void StepWriter::lost(std::string& out, std::uint64_t count) const {
  open(out);
  put_key(out, "lost");
  put(out, count);
  out += "}\n";
}

}  // namespace takt::metrics
