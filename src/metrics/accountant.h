// Turns events into counts. Single-threaded; knows the requests that are alive, and nothing about text formats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/event.h"
#include "metrics/counts.h"
#include "metrics/goodput_window.h"

namespace takt::metrics {

class Accountant {
 public:
  // Service classes beyond this many share the name "other": labels stay few whatever clients send.
  static constexpr std::size_t kMaxClasses = 16;

  // Likewise tenants.
  static constexpr std::size_t kMaxTenants = 32;

  explicit Accountant(std::vector<std::string> model_names);

  void apply(const Event& event);
  // A request that the engine never accepted.
  void refuse(TimePoint at, const RequestLabels& labels, ErrorCode reason);

  // Before the model's first step.
  void set_work(ModelIndex model, const ModelWork& work);

  // Complete at this instant.
  Counts snapshot(TimePoint now) const;

 private:
  struct Choice {
    measure::AnswerTimes times;
    bool seated = false;  // it has had a seat
    bool finished = false;
  };
  struct Request {
    std::size_t class_index = 0;
    std::size_t tenant_index = 0;
    ModelIndex model;
    measure::Targets targets;
    TimePoint arrival;
    TimePoint accepted;
    std::uint32_t prompt_tokens = 0;
    bool has_first_token = false;
    bool failed = false;
    std::vector<Choice> choices;
  };
  using Requests = std::unordered_map<RequestId, Request>;

  void on(TimePoint at, const Accepted& event);
  void on(TimePoint at, const Admitted& event);
  void on(TimePoint at, const Seated& event);
  void on(TimePoint at, const TokenSampled& event);
  void on(TimePoint at, const PromptScored& event);
  void on(TimePoint at, const Preempted& event);
  void on(TimePoint at, const TailTaken& event);
  void on(TimePoint at, const SwapLost& event);
  void on(TimePoint at, const ChoiceFinished& event);
  void on(TimePoint at, const Closed& event);
  void on(TimePoint at, const Delivered& event);
  void on(TimePoint at, const StepCommitted& event);
  void on(TimePoint at, const IdleWhileWorkWaits& event);
  void on(TimePoint at, const StepFailed& event);

  std::size_t class_index(const RequestLabels& labels);
  std::size_t tenant_index(const std::string& tenant);
  void count_goodput(TimePoint at, std::size_t class_index, const measure::RequestRecord& record);
  ModelCounts* model(ModelIndex index);
  Request* find(RequestId id);
  void count_outcome(const Closed& event, const Request& request);
  static measure::RequestRecord record_of(TimePoint at, const Closed& event, const Request& request);

  Counts counts_;
  std::vector<GoodputWindow> last_hour_;                 // index: as of counts_.classes
  std::optional<TimePoint> first_;                       // the first event
  std::vector<std::optional<TimePoint>> window_opened_;  // by model: the last step that one who was held started in
  Requests waiting_;
  Requests running_;
};

}  // namespace takt::metrics
