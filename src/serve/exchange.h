// One HTTP request and its answer, shared by the threads that it passes through; and what they write to it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "api/answer.h"
#include "api/api_error.h"
#include "base/clock.h"
#include "core/ids.h"
#include "http/handler.h"
#include "route/key_ring.h"
#include "route/quota.h"
#include "route/router.h"
#include "serve/load_estimate.h"

namespace takt::serve {

struct Exchange {
  RequestId id;  // also of the first engine request that it leads to
  TimePoint arrival;
  route::Identity identity;
  route::Wishes wishes;  // of the headers
  std::shared_ptr<http::Responder> responder;
  // A stream's status line is wanted at acceptance already, and its place in the queue while it waits.
  bool early_status = false;
  std::shared_ptr<route::QuotaLedger::Ticket> quota;  // null: the key has no limits
  const LoadEstimate* load = nullptr;                 // outlives the exchange; null: nothing is known

  // The client has gone or was cut. Set before anybody is told: a thread that has just handed this exchange on looks
  // here afterwards, so whatever the order, somebody cancels what was handed on.
  std::atomic<bool> client_gone{false};
  // A newer request took its place; set, likewise, before anybody is told.
  std::atomic<bool> superseded{false};
  // The answer has ended, one way or the other. Set, likewise, before the engine is told.
  std::atomic<bool> over{false};
};

// Ids of engine requests, distinct between runs too: they go on upwards from the start's wall time.
class RequestIds {
 public:
  explicit RequestIds(std::int64_t unix_seconds) : next_((static_cast<std::uint64_t>(unix_seconds) << 24) + 1) {}
  RequestId next() { return RequestId(next_.fetch_add(1)); }

 private:
  std::atomic<std::uint64_t> next_;
};

// The answer is about to end, with so many tokens: its place among its key's requests is free before the caller knows.
void leave_quota(const Exchange& exchange, std::uint64_t answer_tokens);

// Headers that every answer carries.
inline http::Headers answer_headers(RequestId id) {
  return {{"x-request-id", api::request_name(id)}};
}

// A whole answer of JSON.
void answer_json(const Exchange& exchange, int status, std::string body);
// An error in the API's shape, with the headers that belong to it.
http::Response error_response(const api::ApiError& error);
// The same with the request's id.
http::Response error_response(RequestId id, const api::ApiError& error);
void answer_error(const Exchange& exchange, const api::ApiError& error);

}  // namespace takt::serve
