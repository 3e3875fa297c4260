// Commands on their way to the engine thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "core/request.h"
#include "core/submitter.h"
#include "engine/door.h"
#include "engine/options.h"

namespace takt {

struct SubmitCommand {
  EngineRequest request;
  Door::Ticket ticket;
  std::uint32_t limit_tokens = 0;  // prompt and output
};
struct CancelCommand {
  RequestId request;
  CancelCause cause;
};
struct FinishChoiceCommand {
  RequestId request;
  std::uint32_t choice;
};
struct DrainCommand {
  TimePoint deadline;
};
// Other settings from the next step on. They have passed Engine::check.
struct ReconfigureCommand {
  std::shared_ptr<const EngineOptions> options;
};
struct StopCommand {};

using Command =
    std::variant<SubmitCommand, CancelCommand, FinishChoiceCommand, DrainCommand, ReconfigureCommand, StopCommand>;

// Bounded by what the door lets in: a request, its cancel, and one finish per choice; beside changes of settings.
class Mailbox {
 public:
  // False once closed; the command is then untouched.
  bool push(Command&& command) {
    {
      const std::lock_guard lock(mutex_);
      if (closed_) return false;
      commands_.push_back(std::move(command));
    }
    arrived_.notify_one();
    return true;
  }

  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }

  // Everything in order of arrival, without waiting for any. Nothing while `into` still holds some: they go first.
  void take_all(std::vector<Command>& into) {
    if (!into.empty()) return;
    const std::lock_guard lock(mutex_);
    into.swap(commands_);
  }

  // Sleeps until there is a command, at most for `longest` (no bound when empty).
  void wait(std::optional<Duration> longest) {
    std::unique_lock lock(mutex_);
    const auto ready = [&] { return !commands_.empty(); };
    if (longest) {
      arrived_.wait_for(lock, *longest, ready);
    } else {
      arrived_.wait(lock, ready);
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<Command> commands_;
  bool closed_ = false;
};

}  // namespace takt
