// An engine's door without an engine: keeps what it is asked, answers as told. The test publishes the events.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "core/submitter.h"

namespace takt::test {

class ScriptedEngine final : public Submitter {
 public:
  Status check_room(const Place& place, std::uint64_t tokens, std::uint32_t choices) const override {
    std::lock_guard lock(mutex_);
    asked_place_ = place;
    asked_tokens_ = tokens;
    asked_choices_ = choices;
    return room_;
  }
  Status submit(EngineRequest request) override {
    {
      std::lock_guard lock(mutex_);
      if (submitted_.size() >= accept_) return refusal_;
      submitted_.push_back(std::move(request));
    }
    changed_.notify_all();
    return {};
  }
  void cancel(RequestId request, CancelCause cause) override {
    {
      std::lock_guard lock(mutex_);
      cancelled_.emplace_back(request, cause);
    }
    changed_.notify_all();
  }
  void finish_choice(RequestId request, std::uint32_t choice) override {
    {
      std::lock_guard lock(mutex_);
      finished_.emplace_back(request, choice);
    }
    changed_.notify_all();
  }

  void set_room(Status room) {
    std::lock_guard lock(mutex_);
    room_ = std::move(room);
  }
  // Accepts so many and refuses the rest with this error.
  void accept_only(std::size_t count, Error refusal) {
    std::lock_guard lock(mutex_);
    accept_ = count;
    refusal_ = std::move(refusal);
  }

  std::vector<EngineRequest> submitted() const {
    std::lock_guard lock(mutex_);
    return submitted_;
  }
  // Waits for that many, and gives the last of them; an empty request when they do not come.
  EngineRequest wait_submitted(std::size_t count = 1) const {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::seconds(20), [&] { return submitted_.size() >= count; })) return {};
    return submitted_[count - 1];
  }
  bool wait_cancelled(RequestId request, CancelCause cause) const {
    return wait([&] {
      for (const auto& entry : cancelled_) {
        if (entry.first == request && entry.second == cause) return true;
      }
      return false;
    });
  }
  bool wait_finished(RequestId request, std::uint32_t choice) const {
    return wait([&] {
      for (const auto& entry : finished_) {
        if (entry.first == request && entry.second == choice) return true;
      }
      return false;
    });
  }
  std::size_t cancels() const {
    std::lock_guard lock(mutex_);
    return cancelled_.size();
  }
  Place asked_place() const {
    std::lock_guard lock(mutex_);
    return asked_place_;
  }
  std::pair<std::uint64_t, std::uint32_t> asked_room() const {
    std::lock_guard lock(mutex_);
    return {asked_tokens_, asked_choices_};
  }

 private:
  bool wait(const std::function<bool()>& condition) const {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), condition);
  }

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::vector<EngineRequest> submitted_;
  std::vector<std::pair<RequestId, CancelCause>> cancelled_;
  std::vector<std::pair<RequestId, std::uint32_t>> finished_;
  Status room_;
  std::size_t accept_ = static_cast<std::size_t>(-1);
  Error refusal_;
  mutable Place asked_place_;
  mutable std::uint64_t asked_tokens_ = 0;
  mutable std::uint32_t asked_choices_ = 0;
};

}  // namespace takt::test
