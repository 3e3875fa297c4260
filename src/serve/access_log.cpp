#include "serve/access_log.h"

#include "api/answer.h"
#include "base/log.h"

namespace takt::serve {

namespace {

constexpr int kInternalError = 500;

std::string seconds(const std::optional<Duration>& duration) {
  return duration ? fmt::format("{:.3f}", to_seconds(*duration)) : "-";
}

const char* or_dash(const std::string& text) {
  return text.empty() ? "-" : text.c_str();
}

}  // namespace

void log_access(const AccessEntry& entry) {
  spdlog::info(
      "access id={} class={} tier={} tenant={} app={} outcome={} code={} prompt_tokens={} cached_tokens={} "
      "output_tokens={} queue_seconds={} ttft_seconds={} total_seconds={:.3f}",
      api::request_name(entry.id), entry.labels.service_class, to_string(entry.labels.tier),
      or_dash(entry.labels.tenant), or_dash(entry.labels.application), entry.outcome, or_dash(entry.code),
      entry.prompt_tokens, entry.cached_tokens, entry.output_tokens, seconds(entry.queue), seconds(entry.ttft),
      to_seconds(entry.total));
}

const char* outcome_of(const api::ApiError& error) {
  return error.status == kInternalError ? "failed" : "refused";
}

void log_refusal(const Exchange& exchange, const RequestLabels& labels, const api::ApiError& error, TimePoint now) {
  AccessEntry entry;
  entry.id = exchange.id;
  entry.labels = labels;
  entry.outcome = outcome_of(error);
  entry.total = now - exchange.arrival;
  entry.code = error.code;
  log_access(entry);
}

}  // namespace takt::serve
