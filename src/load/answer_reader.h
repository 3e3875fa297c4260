// Makes one sample out of what an exchange tells: the instants of tokens, the server's own counts, and how it ended.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "api/sse_reader.h"
#include "load/answer_events.h"
#include "load/transport.h"
#include "measure/answer_sample.h"

namespace takt::load {

// What is kept of an answer is bounded by what its sender allows to measure: the gaps, and the text only where a later
// turn needs it.
class AnswerReader {
 public:
  AnswerReader(measure::AnswerSample& sample, bool keep_text) : sample_(sample), keep_text_(keep_text) {}

  void head(const ResponseHead& head);
  void body(TimePoint at, std::string_view bytes);
  // The exchange is over; the sample's outcome, failure and end are final.
  void finish(TimePoint at, measure::Failure failure, const std::string& detail);

  // The answer is complete or has failed: what still comes changes nothing.
  bool settled() const { return settled_; }
  const std::string& text() const { return text_; }
  std::optional<double> retry_after_seconds() const { return retry_after_; }
  // A complete answer is in sight: an end was announced.
  bool announced_end() const { return done_ || finished_; }

  static constexpr std::size_t kMaxBodyBytes = std::size_t{16} << 20;  // of answers that are not streamed
  static constexpr std::size_t kMaxTextBytes = std::size_t{4} << 20;

 private:
  Status take_event(TimePoint at, std::string_view event);
  void take_token(TimePoint at, const AnswerEvent& event);
  Status take_whole(TimePoint at);
  void take_refusal();
  void fail(measure::Failure failure, std::string_view detail);

  measure::AnswerSample& sample_;
  bool keep_text_;
  ResponseHead head_;
  api::SseReader sse_;
  std::string body_;  // of an answer that is not streamed, or of a refusal
  std::string text_;
  std::optional<double> retry_after_;
  bool done_ = false;      // [DONE]
  bool finished_ = false;  // a finish_reason came
  bool settled_ = false;
};

}  // namespace takt::load
