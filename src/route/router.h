// Which caller a request comes from, for whom it speaks, and which service class it belongs to.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "core/request.h"
#include "route/key_ring.h"
#include "route/local_time.h"
#include "route/options.h"
#include "route/service_class.h"

namespace takt::route {

// What a request says about itself; empty where it says nothing.
struct Wishes {
  std::string service_class;                                   // header x-takt-class
  std::string tier;                                            // header x-takt-tier: realtime or batch
  std::string service_tier;                                    // the body's: auto, default or flex
  std::string user;                                            // header x-takt-user, or the body's end user
  std::string tenant{};                                        // header x-takt-tenant
  std::string application{};                                   // header x-takt-app
  std::string deadline_ms{};                                   // header x-takt-deadline-ms
  std::vector<std::pair<std::string, std::string>> headers{};  // x-takt-*, for rules
  std::string model{};
  std::string path{};
  std::uint64_t prompt_tokens = 0;  // see RuleOptions
};

// Whom a request is for: the key's owner, or whom a key that speaks for others names.
struct Subject {
  std::string tenant;
  std::string application;
  std::string user;
  bool by_request = false;  // the tenant is one that the request names
};

struct Route {
  RequestLabels labels;
  ServiceTargets targets;
  ClassIndex service_class = kNoClass;
  double weight = 1.0;
  Duration deadline{0};  // of the first token, after arrival; 0: the class's target
  std::uint64_t cache_salt = 0;
  std::string why;  // how the class was chosen, for people
};

// Keys, classes and rules at one moment of the day. Immutable.
struct RoutingTable {
  KeyRing keys;
  ServiceClasses classes;
  std::deque<RuleOptions> rules;

  // `before`: the table that this one follows, for the classes' indices; may be null.
  // Errors: kInvalidArgument, field = the setting at fault: keys as KeyRing::create; a class that a key or a rule
  // names and that does not exist; a rule for a key that does not exist.
  static Result<RoutingTable> create(const RouteOptions& options, const LocalTime& now, const RoutingTable* before);
};

// Safe to use from any thread.
class Router {
 public:
  explicit Router(RoutingTable table) : table_(std::make_shared<const RoutingTable>(std::move(table))) {}

  // From here on requests are judged by this table.
  void replace(RoutingTable table);
  std::shared_ptr<const RoutingTable> table() const;

  // Whether callers need a key at all.
  bool has_keys() const { return !table()->keys.empty(); }

  // The caller of a request with these headers; empty when keys are needed and none of them is right. `authorization`
  // is "Bearer KEY" (the scheme in any case); `x_api_key` the bare key. One of the two is enough.
  std::optional<Identity> identify(std::string_view authorization, std::string_view x_api_key) const;

  // The class is that of the first rule that overrides; else the one that the request names; else that of the first
  // rule that matches; else the key's; else chat. Where the request names a tier (flex: batch), a rule or key whose
  // class is of the other tier does not count, and background stands for chat in the batch tier. A rule that leads
  // above what the key may have does not match. Errors: kInvalidArgument, field = the header or field: there is no such
  // class or tier, they contradict each other, the key may not ask for it, a name that is too long or not printable, a
  // deadline that is none.
  Result<Route> route(const Identity& identity, const Wishes& wishes) const;
  // What can be told before the body is there. Errors: those of route() that nothing in the body, and no rule about it,
  // could avert.
  Result<Subject> judge_head(const Identity& identity, const Wishes& head) const;
  // Of a request that is refused before it could say anything.
  RequestLabels labels_of(const Identity& identity) const;

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const RoutingTable> table_;
};

}  // namespace takt::route
