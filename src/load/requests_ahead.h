// The requests of an open load, read from their source and given their bodies before they are due.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "load/planned_request.h"

namespace takt::load {

struct ReadyRequest {
  PlannedRequest plan;
  std::string body;
};

// Bounded in number and bytes.
class RequestsAhead {
 public:
  using BodyOf = std::function<std::string(const PlannedRequest&)>;
  explicit RequestsAhead(BodyOf body_of) : body_of_(std::move(body_of)) {}

  void read_from(std::unique_ptr<RequestSource> source) { source_ = std::move(source); }

  // Makes more of them, as long as `first_is_due` says no once two are there: a long prompt takes its time.
  void fill(const std::function<bool(const PlannedRequest& first)>& first_is_due);

  bool empty() const { return ready_.empty(); }
  const PlannedRequest& first() const { return ready_.front().plan; }
  ReadyRequest take();

  // No more will come.
  bool ended() const { return ended_; }
  // The source ended by this; what came before it counts.
  const std::optional<Error>& error() const { return error_; }

 private:
  BodyOf body_of_;
  std::unique_ptr<RequestSource> source_;
  std::deque<ReadyRequest> ready_;
  std::size_t bytes_ = 0;
  bool ended_ = false;
  std::optional<Error> error_;
};

}  // namespace takt::load
