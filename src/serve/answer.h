// One generation answer on its way out: the engine's events in, HTTP out. Owned by one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/answer.h"
#include "api/api_error.h"
#include "base/clock.h"
#include "core/event.h"
#include "core/submitter.h"
#include "serve/choice_text.h"
#include "serve/exchange.h"
#include "serve/options.h"
#include "text/tokenizer.h"

namespace takt::serve {

// One engine request: one prompt and its choices.
struct AnswerPart {
  RequestId id;
  std::vector<TokenId> prompt;
  std::string prompt_text;
};

// Everything that is decided before the engine is asked.
struct AnswerPlan {
  api::AnswerHead head;
  RequestLabels labels;
  bool stream = false;
  bool echo = false;
  std::uint32_t choices = 1;  // of every part; choice c of part p is choice p * choices + c of the answer
  std::vector<std::string> stops;
  std::uint64_t seed = 0;
  std::vector<AnswerPart> parts;
  std::shared_ptr<const Tokenizer> tokenizer;
  Submitter* engine = nullptr;
};

class Answer {
 public:
  Answer(std::shared_ptr<Exchange> exchange, AnswerPlan plan, const ServeOptions& options);

  const std::vector<AnswerPart>& parts() const { return plan_.parts; }
  RequestId id() const { return exchange_->id; }

  void on(TimePoint at, const Accepted& event);
  void on(TimePoint at, const Admitted& event);
  void on(TimePoint at, const TokenSampled& event);
  void on(TimePoint at, const PromptScored& event);
  void on(TimePoint at, const ChoiceFinished& event);
  void on(TimePoint at, const Closed& event);

  // Writes what is new, unless the reader is behind.
  void flush(TimePoint now);
  // What time alone brings: comment lines, and the end of patience with a slow reader.
  void tick(TimePoint now);

  // Ends the answer with an error: a real status when nothing was sent yet, an error event and no clean end otherwise.
  // What still runs is cancelled.
  void fail(const Error& error, TimePoint now);
  // The same at the very end, when there may be no engine left to tell.
  void give_up(const Error& error, TimePoint now);
  // Nobody reads any more.
  void abandon(CancelCause cause, TimePoint now);

  // Answered or given up: nothing is left to do.
  bool over() const { return exchange_->over.load(); }
  // Once it is over.
  AnswerOutcome outcome() const { return outcome_; }
  bool streaming() const { return begun_; }

 private:
  struct Choice {
    ChoiceText text;
    bool sent = false;  // its first chunk
    std::optional<FinishReason> finish;
    bool finish_sent = false;
  };
  struct Part {
    std::vector<api::ScoredToken> scored_prompt;
    bool echoed = false;
    std::optional<Closed> closed;
  };

  std::optional<std::uint32_t> part_of(RequestId request) const;
  Choice* choice_of(RequestId request, std::uint32_t choice);
  void echo_prompt(std::uint32_t part);
  void begin_stream(TimePoint at);
  std::string sign_of_life() const;
  std::string news();
  bool reader_is_behind(TimePoint now);
  bool complete() const;
  void conclude(TimePoint ended, TimePoint now);
  void end(AnswerOutcome outcome, TimePoint at, const api::ApiError* error = nullptr);
  api::Usage usage() const;
  api::AnswerTimings timings(TimePoint end) const;
  void cancel_open_parts(CancelCause cause);

  const std::shared_ptr<Exchange> exchange_;
  const AnswerPlan plan_;
  const ServeOptions options_;  // an answer may outlive the door that it came through
  std::vector<Choice> choices_;
  std::vector<Part> parts_;
  std::optional<TimePoint> accepted_;
  std::optional<TimePoint> admitted_;
  std::optional<TimePoint> first_token_;
  std::optional<TimePoint> ended_;  // all parts closed, the reader may still be behind
  bool begun_ = false;
  bool has_news_ = false;
  bool place_unsaid_ = false;  // the queue's place was not told yet
  TimePoint last_write_;
  std::optional<TimePoint> behind_since_;
  AnswerOutcome outcome_ = AnswerOutcome::kAnswered;
};

}  // namespace takt::serve
