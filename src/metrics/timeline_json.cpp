#include "metrics/timeline_json.h"

#include <boost/json.hpp>
#include <utility>

namespace takt::metrics {
namespace {

namespace json = boost::json;

// Microseconds are as fine as anybody reads.
double seconds(Duration duration) {
  return static_cast<double>(std::chrono::round<std::chrono::microseconds>(duration).count()) / 1e6;
}

json::object reasons_json(const WaitTimes& waited) {
  json::object reasons;
  for (std::size_t i = 0; i < waited.size(); ++i) {
    if (waited[i] > Duration::zero()) reasons[to_string(static_cast<WaitReason>(i))] = seconds(waited[i]);
  }
  return reasons;
}

json::object span_json(const Timeline& timeline, const Span& span) {
  json::object fields{{"state", to_string(span.kind)},
                      {"from_seconds", seconds(span.from - timeline.arrival)},
                      {"to_seconds", seconds(span.to - timeline.arrival)}};
  if (timeline.choices > 1) fields["choice"] = span.choice;
  if (span.kind == SpanKind::kPrefill || span.kind == SpanKind::kDecode) fields["tokens"] = span.tokens;
  if (span.kind == SpanKind::kPreempted) {
    fields["kind"] = span.tokens == 0 ? "seat" : "recompute";
    fields["dropped_tokens"] = span.tokens;
    if (span.in_favour_of) fields["in_favour_of"] = to_string(*span.in_favour_of);
  }
  if (span.kind == SpanKind::kSwapped) {
    fields["kind"] = "swap";
    fields["swapped_tokens"] = span.tokens;
    if (span.in_favour_of) fields["in_favour_of"] = to_string(*span.in_favour_of);
  }
  if (span.kind == SpanKind::kQueued || span.kind == SpanKind::kPreempted || span.kind == SpanKind::kSwapped)
    fields["waited_seconds"] = reasons_json(span.reasons);
  return fields;
}

const char* state_of(const Timeline& timeline) {
  if (timeline.over()) return "ended";
  if (timeline.closed) return "sending";
  // The open spans come last; any choice that decodes speaks for the request.
  const char* state = "queued";
  for (const Span& span : timeline.spans) state = to_string(span.kind);
  return state;
}

void add_end(const Timeline& timeline, json::object& fields) {
  if (timeline.closed) {
    fields["finish_reason"] = to_string(timeline.finish);
    if (!timeline.error.message.empty()) {
      fields["error"] = {{"code", to_string(timeline.error.code)}, {"message", timeline.error.message}};
    }
  }
  if (timeline.delivered) fields["outcome"] = to_string(timeline.outcome);
}

json::object to_json(const Timeline& timeline, const TimelineContext& context) {
  const auto since_arrival = [&](const std::optional<TimePoint>& at) {
    return at ? json::value(seconds(*at - timeline.arrival)) : json::value();
  };
  json::object fields{{"id", context.name_of(timeline.request)}, {"state", state_of(timeline)}};
  const std::size_t model = timeline.model.value;
  if (model < context.model_names.size()) fields["model"] = context.model_names[model];
  fields["service_class"] = timeline.labels.service_class;
  fields["tier"] = to_string(timeline.labels.tier);
  fields["tenant"] = timeline.labels.tenant;
  fields["application"] = timeline.labels.application;
  fields["arrived_seconds_ago"] = seconds(context.now - timeline.arrival);
  fields["prompt_tokens"] = timeline.prompt_tokens;
  fields["cached_tokens"] = timeline.cached_tokens;
  fields["output_tokens"] = timeline.output_tokens;
  fields["choices"] = timeline.choices;
  fields["preemptions"] = timeline.preemptions;
  fields["queue_seconds"] =
      timeline.first_seat ? json::value(seconds(*timeline.first_seat - timeline.accepted)) : json::value();
  fields["ttft_seconds"] = since_arrival(timeline.first_token);
  fields["total_seconds"] = seconds(timeline.age(context.now));
  if (timeline.worst_gap > Duration::zero()) {
    fields["worst_gap"] = {{"seconds", seconds(timeline.worst_gap)},
                           {"at_seconds", seconds(timeline.worst_gap_at - timeline.arrival)}};
  }
  if (timeline.closed) fields["waited_seconds"] = reasons_json(timeline.waited);
  add_end(timeline, fields);
  if (const auto place = context.place_of ? context.place_of(timeline) : std::nullopt) {
    json::object queue{{"position", place->position}};
    queue["starts_in_seconds"] = place->starts_in ? json::value(seconds(*place->starts_in)) : json::value();
    if (place->reason != WaitReason::kNone) queue["reason"] = to_string(place->reason);
    fields["queue"] = std::move(queue);
  }
  json::object totals;
  for (std::size_t i = 0; i < kSpanKinds; ++i) {
    totals[to_string(static_cast<SpanKind>(i))] = seconds(timeline.totals[i]);
  }
  fields["seconds_by_state"] = std::move(totals);
  json::array spans;
  for (const Span& span : timeline.spans) spans.push_back(span_json(timeline, span));
  fields["spans"] = std::move(spans);
  fields["spans_left_out"] = timeline.spans_left_out;
  return fields;
}

}  // namespace

std::string timeline_json(const Timeline& timeline, const TimelineContext& context) {
  return json::serialize(to_json(timeline, context));
}

std::string timelines_json(std::span<const Timeline> timelines, std::size_t alive, const TimelineContext& context) {
  json::array requests;
  for (const Timeline& timeline : timelines) requests.push_back(to_json(timeline, context));
  return json::serialize(json::object{{"alive", alive}, {"requests", std::move(requests)}});
}

}  // namespace takt::metrics
