// Brings the engine's events to the answers they belong to: one thread that detokenizes, matches stop strings and
// writes.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "core/event.h"
#include "serve/answer.h"
#include "serve/load_estimate.h"

namespace takt::serve {

// Every method may be called from any thread and returns at once. The inbox between the threads has no limit of its
// own: what waits in it is bounded by the tokens that accepted requests may still produce.
class Delivery final : public EventSink {
 public:
  // `followers` get the same events on the thread that writes answers, before the answers do, and a Delivered event
  // for each part of an answer that is done, after the part's Accepted. They outlive this object. The engines' threads
  // pay nothing for them.
  explicit Delivery(const Clock& clock, std::vector<EventSink*> followers = {});
  ~Delivery() override;  // stop()
  Delivery(const Delivery&) = delete;
  Delivery& operator=(const Delivery&) = delete;

  // Before the first event.
  void add_follower(EventSink& follower) { followers_.push_back(&follower); }

  // From here on events of the answer's parts reach it. To be called before its parts go to the engine.
  void open(std::unique_ptr<Answer> answer);
  // Parts of an open answer that the engine will never accept: it refused one, or they are not asked for any more.
  void withdraw(std::vector<RequestId> parts);
  // Ends the answer `id` with an error; nothing happens when it is over.
  void fail(RequestId id, Error error);
  // The client of the answer `id` has gone or was cut.
  void abandon(RequestId id, CancelCause cause);
  // Ends every open answer with an error, without a word to the engines: they go with the process.
  void give_up(Error error);

  void publish(const std::vector<Event>& events) noexcept override;

  // Works on what came so far, then ends what is open with an error. From here on no engine is spoken to: it may go.
  void stop();

  const LoadEstimate& load() const { return load_; }

  std::size_t open_answers() const;
  // Waits until no answer is open; false when that took longer.
  bool wait_until_idle(Duration limit) const;

 private:
  struct Fail {
    RequestId id;
    Error error;
  };
  struct Abandon {
    RequestId id;
    CancelCause cause;
  };
  struct GiveUp {
    Error error;
  };
  struct Withdraw {
    std::vector<RequestId> parts;
  };
  // A part of an answer that the engine has not accepted yet.
  struct Unaccepted {
    bool withdrawn = false;                // and never will
    std::optional<AnswerOutcome> outcome;  // of its answer, where that is over already
  };
  using Message = std::variant<std::unique_ptr<Answer>, Withdraw, Fail, Abandon, GiveUp, std::vector<Event>>;

  void post(Message message);
  void run();
  std::vector<Message> wait_for_messages(bool ticking);
  void take(std::unique_ptr<Answer>& answer);
  void take(Withdraw& message);
  void take(Fail& message);
  void take(Abandon& message);
  void take(GiveUp& message);
  void take(std::vector<Event>& events);
  Answer* find(RequestId part);
  void tell_followers(const std::vector<Event>& events);
  void tell_held_back(const std::vector<Event>& events);
  void flush_and_retire(TimePoint now, bool tick);

  const Clock& clock_;
  std::vector<EventSink*> followers_;
  LoadEstimate load_;

  mutable std::mutex mutex_;
  std::condition_variable has_messages_;
  mutable std::condition_variable idle_;
  std::vector<Message> inbox_;
  std::size_t open_ = 0;  // answers handed to open() and not over
  bool stop_ = false;

  // The thread's own.
  std::unordered_map<RequestId, std::unique_ptr<Answer>> answers_;  // by their id
  std::unordered_map<RequestId, Answer*> by_part_;
  std::unordered_map<RequestId, Unaccepted> unaccepted_;

  std::thread thread_;  // last: it uses all of the above
};

}  // namespace takt::serve
