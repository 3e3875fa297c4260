#include "metrics/server_metrics.h"

#include <exception>
#include <utility>

#include "base/log.h"

namespace takt::metrics {

ServerMetrics::ServerMetrics(std::vector<std::string> model_names, ExpositionOptions options, const Clock& clock)
    : options_(std::move(options)), clock_(clock), accountant_(std::move(model_names)) {}

void ServerMetrics::publish(const std::vector<Event>& events) noexcept {
  try {
    std::lock_guard lock(mutex_);
    for (const Event& event : events) accountant_.apply(event);
  } catch (const std::exception& error) {
    spdlog::error("metrics: events were lost: {}", error.what());
  }
}

void ServerMetrics::count_refusal(const RequestLabels& labels, ErrorCode reason) {
  std::lock_guard lock(mutex_);
  accountant_.refuse(clock_.now(), labels, reason);
}

void ServerMetrics::set_work(ModelIndex model, const ModelWork& work) {
  std::lock_guard lock(mutex_);
  accountant_.set_work(model, work);
}

Counts ServerMetrics::counts() const {
  std::lock_guard lock(mutex_);
  return accountant_.snapshot(clock_.now());
}

std::string ServerMetrics::text(std::span<const KvBlocks> memory, const ServerState& server, ExpositionFormat format) {
  std::vector<EnergyReading> energy;
  std::vector<EnergyReading> idle_energy;
  Counts now;
  {
    std::lock_guard lock(energy_mutex_);
    energy = energy_.read();
    now = counts();
    Duration busy{0};
    std::uint64_t requests = 0;
    for (const ModelCounts& model : now.models) busy += model.busy;
    for (const ClassCounts& one : now.classes) requests += one.running + one.waiting;
    idle_energy_.note(energy, busy, requests);
    idle_energy = idle_energy_.joules();
  }
  return exposition(now, {memory, energy, server, idle_energy}, options_, {clock_.now(), format});
}

}  // namespace takt::metrics
