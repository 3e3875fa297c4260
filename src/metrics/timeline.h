// The life of one request as a list of spans: what it waited for, when it was computed, when its answer left.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "core/event.h"

namespace takt::metrics {

enum class SpanKind : std::uint8_t {
  kPreparing,  // from the request's arrival until the engine has it: reading, template, tokens, hand-over
  kQueued,     // waits for its first seat
  kPrefill,    // known tokens are computed: the prompt, or what a preemption dropped
  kDecode,     // tokens are generated, one a step
  kPreempted,  // lost its seat and waits for one
  kSwapped,    // the same, and what it had computed is in the swap arena or on its way
  kSending,    // computed; the answer is on its way to the socket
};
inline constexpr std::size_t kSpanKinds = 7;
const char* to_string(SpanKind kind);

struct Span {
  SpanKind kind = SpanKind::kPreparing;
  std::uint32_t choice = 0;
  TimePoint from;
  TimePoint to;
  std::uint32_t tokens =
      0;  // computed (prefill) or generated (decode) in it; dropped (preempted) or copied out (swapped)
  std::optional<Tier> in_favour_of;  // preempted, swapped: of what took the seat
  WaitTimes reasons{};               // queued, preempted and swapped: what was waited for; adds up to its length

  Duration length() const { return to - from; }
};

// Everything that is kept of a request. Its size has a bound, whatever the request does.
struct Timeline {
  // Closed spans beyond this many are in the totals only.
  static constexpr std::size_t kMaxSpans = 64;

  RequestId request;
  ModelIndex model;
  RequestLabels labels;
  TimePoint arrival;
  TimePoint accepted;  // in the queue
  std::uint32_t prompt_tokens = 0;
  std::uint32_t choices = 1;
  std::uint32_t cached_tokens = 0;
  std::uint32_t output_tokens = 0;  // of all choices
  std::uint32_t preemptions = 0;
  std::optional<TimePoint> first_seat;
  std::optional<TimePoint> first_token;
  Duration worst_gap{0};   // between two tokens of a choice
  TimePoint worst_gap_at;  // its end
  WaitTimes waited{};      // by reason; of choices that are over
  std::uint64_t seed = 0;

  std::vector<Span> spans;  // by time; those of several choices are mixed. The open ones are not among them
  std::uint32_t spans_left_out = 0;
  std::array<Duration, kSpanKinds> totals{};  // of closed spans, also of those left out

  std::optional<TimePoint> closed;  // by the engine
  FinishReason finish = FinishReason::kStop;
  Error error;  // kFailed and kExpired
  std::optional<TimePoint> delivered;
  AnswerOutcome outcome = AnswerOutcome::kAnswered;

  bool over() const { return closed && delivered; }
  // From arrival to the end, or to `now`.
  Duration age(TimePoint now) const;
};

// Builds a timeline from the request's events, in their order.
class TimelineBuilder {
 public:
  TimelineBuilder(TimePoint at, const Accepted& event);

  void on(TimePoint at, const Admitted& event);
  void on(TimePoint at, const Seated& event);
  void on(TimePoint at, const TokenSampled& event);
  void on(TimePoint at, const Preempted& event);
  void on(TimePoint at, const TailTaken& event);
  void on(TimePoint at, const SwapLost& event);
  void on(TimePoint at, const ChoiceFinished& event);
  void on(TimePoint at, const Closed& event);
  void on(TimePoint at, const Delivered& event);

  // With the spans that are closed.
  const Timeline& timeline() const { return timeline_; }
  // With those that are open, as of `now`.
  Timeline as_of(TimePoint now) const;

 private:
  struct Choice {
    Span open;
    WaitTimes waited{};       // before the open span
    std::uint32_t known = 0;  // tokens
    std::optional<TimePoint> last_token;
    bool over = false;
  };

  Choice* find(std::uint32_t choice);
  void turn_to(SpanKind kind, Choice& choice, TimePoint at);
  static void keep(Timeline& timeline, const Span& span);

  Timeline timeline_;
  std::vector<Choice> choices_;
};

}  // namespace takt::metrics
