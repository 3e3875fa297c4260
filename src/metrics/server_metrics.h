// The server's metrics: subscribes to the engine's events, counts refusals at the door, and answers a scrape.
#pragma once

#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "core/event.h"
#include "metrics/accountant.h"
#include "metrics/energy_meter.h"
#include "metrics/exposition.h"
#include "metrics/idle_energy.h"

namespace takt::metrics {

// Safe to use from any thread. A scrape holds the lock only while it copies the counts (tens of kilobytes), and formats
// them afterwards: the engine thread never waits for text to be written.
class ServerMetrics final : public EventSink {
 public:
  // model_names: index = ModelIndex. The clock outlives this object and is the engine's.
  ServerMetrics(std::vector<std::string> model_names, ExpositionOptions options, const Clock& clock);

  void publish(const std::vector<Event>& events) noexcept override;

  // A request that was refused before the engine accepted it. A refusal that produced events must not be counted here.
  void count_refusal(const RequestLabels& labels, ErrorCode reason);

  void set_work(ModelIndex model, const ModelWork& work);

  Counts counts() const;
  // What GET /metrics answers, with its content_type(). memory: index = ModelIndex.
  std::string text(std::span<const KvBlocks> memory, const ServerState& server = {},
                   ExpositionFormat format = ExpositionFormat::kPrometheus);

 private:
  const ExpositionOptions options_;
  const Clock& clock_;
  mutable std::mutex mutex_;
  Accountant accountant_;
  std::mutex energy_mutex_;  // reading the counters takes system calls, which the engine's events need not wait for
  EnergyMeter energy_;
  IdleEnergy idle_energy_;
};

}  // namespace takt::metrics
