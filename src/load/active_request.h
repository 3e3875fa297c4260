// A request that is under way: its exchange, its limits of time, and the sample that comes of it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "load/answer_reader.h"
#include "load/transport.h"
#include "measure/answer_sample.h"

namespace takt::load {

class ActiveRequest final : private ExchangeObserver {
 public:
  class Owner {
   public:
    virtual ~Owner() = default;
    // Its sample is final. The owner may destroy the request in this call, or begin it again.
    virtual void request_over(ActiveRequest& request, TimePoint at) = 0;
  };

  ActiveRequest(Transport& transport, Owner& owner, measure::AnswerSample first, bool keep_text)
      : sample(std::move(first)), transport_(transport), owner_(owner), keep_text_(keep_text) {}
  ~ActiveRequest() override { let_go(); }
  ActiveRequest(const ActiveRequest&) = delete;
  ActiveRequest& operator=(const ActiveRequest&) = delete;

  measure::AnswerSample sample;
  OutgoingRequest outgoing;
  bool may_repeat = false;  // begin_again may be called: what goes out is kept
  Duration timeout{0};
  std::optional<Duration> cancel_after;
  std::optional<std::size_t> user;
  std::string session;

  void begin();
  // The same request once more; its scheduled instant stays.
  void begin_again();
  // It is over now, unfinished.
  void give_up(TimePoint now);

  const std::string& text() const { return reader_->text(); }
  std::optional<double> retry_after_seconds() const { return reader_->retry_after_seconds(); }

 private:
  void on_head(TimePoint at, const ResponseHead& head) override;
  void on_body(TimePoint at, std::string_view bytes) override;
  void on_end(TimePoint at, measure::Failure failure, const std::string& detail) override;
  void cut(TimePoint at, measure::Failure failure, const std::string& detail);
  void cancel(TimePoint at);
  void let_go();  // of exchange and timers

  Transport& transport_;
  Owner& owner_;
  bool keep_text_;
  std::optional<AnswerReader> reader_;
  std::optional<ExchangeId> exchange_;
  std::optional<TimerId> timeout_call_;
  std::optional<TimerId> cancel_call_;
};

}  // namespace takt::load
