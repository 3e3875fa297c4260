#include "metrics/timeline.h"

#include <algorithm>

namespace takt::metrics {

const char* to_string(SpanKind kind) {
  switch (kind) {
    case SpanKind::kPreparing:
      return "preparing";
    case SpanKind::kQueued:
      return "queued";
    case SpanKind::kPrefill:
      return "prefill";
    case SpanKind::kDecode:
      return "decode";
    case SpanKind::kPreempted:
      return "preempted";
    case SpanKind::kSwapped:
      return "swapped";
    case SpanKind::kSending:
      break;
  }
  return "sending";
}

Duration Timeline::age(TimePoint now) const {
  return (over() ? std::max(*closed, *delivered) : now) - arrival;
}

TimelineBuilder::TimelineBuilder(TimePoint at, const Accepted& event) {
  timeline_.request = event.request;
  timeline_.model = event.model;
  timeline_.labels = event.labels;
  timeline_.arrival = event.arrival;
  timeline_.prompt_tokens = event.prompt_tokens;
  timeline_.choices = std::max<std::uint32_t>(1, event.choices);
  Span preparing;
  preparing.from = event.arrival;
  preparing.to = std::max(at, event.arrival);
  timeline_.accepted = preparing.to;
  keep(timeline_, preparing);
  choices_.resize(timeline_.choices);
  for (std::uint32_t i = 0; i < timeline_.choices; ++i) {
    Choice& choice = choices_[i];
    choice.known = event.prompt_tokens;
    choice.open.kind = SpanKind::kQueued;
    choice.open.choice = i;
    choice.open.from = choice.open.to = preparing.to;
  }
}

TimelineBuilder::Choice* TimelineBuilder::find(std::uint32_t choice) {
  return choice < choices_.size() && !choices_[choice].over ? &choices_[choice] : nullptr;
}

void TimelineBuilder::keep(Timeline& timeline, const Span& span) {
  timeline.totals[static_cast<std::size_t>(span.kind)] += span.length();
  if (timeline.spans.size() < Timeline::kMaxSpans) {
    timeline.spans.push_back(span);
  } else {
    ++timeline.spans_left_out;
  }
}

void TimelineBuilder::turn_to(SpanKind kind, Choice& choice, TimePoint at) {
  Span& open = choice.open;
  open.to = std::max(at, open.from);
  keep(timeline_, open);
  const Span next{kind, open.choice, open.to, open.to, 0, {}, {}};
  open = next;
}

void TimelineBuilder::on(TimePoint /*at*/, const Admitted& event) {
  timeline_.cached_tokens = event.cached_tokens;
}

void TimelineBuilder::on(TimePoint at, const Seated& event) {
  Choice* choice = find(event.choice);
  if (choice == nullptr) return;
  if (!timeline_.first_seat) timeline_.first_seat = at;
  for (std::size_t i = 0; i < event.waited.size(); ++i) {
    choice->open.reasons[i] = event.waited[i] - choice->waited[i];
  }
  choice->waited = event.waited;
  // Only the last known token is left to compute: it goes on as if nothing had been.
  const bool had_a_seat = choice->open.kind == SpanKind::kPreempted || choice->open.kind == SpanKind::kSwapped;
  const bool ready = had_a_seat && event.ready_tokens + 1 >= choice->known;
  turn_to(ready && choice->last_token ? SpanKind::kDecode : SpanKind::kPrefill, *choice, at);
  if (choice->open.kind == SpanKind::kPrefill)
    choice->open.tokens = choice->known - std::min(choice->known, event.ready_tokens);
}

void TimelineBuilder::on(TimePoint at, const TokenSampled& event) {
  Choice* choice = find(event.choice);
  if (choice == nullptr) return;
  if (choice->open.kind != SpanKind::kDecode) turn_to(SpanKind::kDecode, *choice, at);
  ++choice->open.tokens;
  ++choice->known;
  ++timeline_.output_tokens;
  if (!timeline_.first_token) timeline_.first_token = at;
  if (choice->last_token && at - *choice->last_token > timeline_.worst_gap) {
    timeline_.worst_gap = at - *choice->last_token;
    timeline_.worst_gap_at = at;
  }
  choice->last_token = at;
}

void TimelineBuilder::on(TimePoint at, const Preempted& event) {
  Choice* choice = find(event.choice);
  if (choice == nullptr) return;
  ++timeline_.preemptions;
  choice->waited = event.waited;
  const bool swapped = event.swapped_tokens > 0;
  turn_to(swapped ? SpanKind::kSwapped : SpanKind::kPreempted, *choice, at);
  choice->open.tokens = swapped ? event.swapped_tokens : event.dropped_tokens;
  choice->open.in_favour_of = event.in_favour_of;
}

// The span says what became of it last. What was in the arena is given up with what is dropped.
void TimelineBuilder::on(TimePoint /*at*/, const TailTaken& event) {
  Choice* choice = find(event.choice);
  if (choice == nullptr) return;
  Span& open = choice->open;
  if (open.kind != SpanKind::kPreempted && open.kind != SpanKind::kSwapped) return;
  open.kind = event.swapped_tokens > 0 ? SpanKind::kSwapped : SpanKind::kPreempted;
  open.tokens += event.swapped_tokens + event.dropped_tokens;
  open.in_favour_of = event.in_favour_of;
}

// It waits on, and will have to compute again.
void TimelineBuilder::on(TimePoint /*at*/, const SwapLost& event) {
  Choice* choice = find(event.choice);
  if (choice == nullptr || choice->open.kind != SpanKind::kSwapped) return;
  choice->open.kind = SpanKind::kPreempted;
  choice->open.tokens = event.tokens;
}

void TimelineBuilder::on(TimePoint at, const ChoiceFinished& event) {
  Choice* choice = find(event.choice);
  if (choice == nullptr) return;
  choice->over = true;
  turn_to(SpanKind::kSending, *choice, at);
  timeline_.finish = event.reason;
  if (!event.error.message.empty()) timeline_.error = event.error;
}

void TimelineBuilder::on(TimePoint at, const Closed& event) {
  for (Choice& choice : choices_) {
    if (choice.over) continue;
    choice.over = true;
    turn_to(SpanKind::kSending, choice, at);
  }
  timeline_.closed = at;
  timeline_.finish = event.reason;
  timeline_.waited = event.waited;
  timeline_.seed = event.seed;
  // One span of sending for the whole answer: it begins when the last choice is computed.
  choices_.front().open.from = choices_.front().open.to = at;
}

void TimelineBuilder::on(TimePoint at, const Delivered& event) {
  timeline_.delivered = at;
  timeline_.outcome = event.outcome;
  if (!timeline_.closed) return;
  Span sending = choices_.front().open;
  sending.to = std::max(at, sending.from);
  keep(timeline_, sending);
}

Timeline TimelineBuilder::as_of(TimePoint now) const {
  Timeline timeline = timeline_;
  if (timeline.over()) return timeline;
  for (const Choice& choice : choices_) {
    // A choice that is over waits for the others; what is sent is the whole answer.
    if (choice.over && !(timeline.closed && choice.open.choice == 0)) continue;
    Span open = choice.open;
    open.to = std::max(now, open.from);
    timeline.totals[static_cast<std::size_t>(open.kind)] += open.length();
    timeline.spans.push_back(open);  // there, however many there are: they say what happens now
  }
  return timeline;
}

}  // namespace takt::metrics
