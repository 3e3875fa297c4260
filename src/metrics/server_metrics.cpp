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

std::string ServerMetrics::text(std::span<const KvBlocks> memory, const ServerState& server) {
  std::vector<EnergyReading> energy;
  {
    std::lock_guard lock(energy_mutex_);
    energy = energy_.read();
  }
  return exposition(counts(), {memory, energy, server}, options_, clock_.now());
}

}  // namespace takt::metrics
