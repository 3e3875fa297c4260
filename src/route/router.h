// Which caller a request comes from and which service class it belongs to.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "core/request.h"
#include "route/key_ring.h"

namespace takt::route {

// What a request says about itself; empty where it says nothing.
struct Wishes {
  std::string service_class;  // header x-takt-class
  std::string tier;           // header x-takt-tier: realtime or batch
  std::string service_tier;   // the body's: auto, default or flex
  std::string user;           // the body's end user
};

struct Route {
  RequestLabels labels;
  ServiceTargets targets;
  std::uint64_t cache_salt = 0;
};

class Router {
 public:
  explicit Router(KeyRing keys) : keys_(std::move(keys)) {}

  // Whether callers need a key at all.
  bool has_keys() const { return !keys_.empty(); }

  // The caller of a request with these headers; empty when keys are needed and none of them is right. `authorization`
  // is "Bearer KEY" (the scheme in any case); `x_api_key` the bare key. One of the two is enough.
  std::optional<Identity> identify(std::string_view authorization, std::string_view x_api_key) const;

  // The class is the one that the request names, else that of its tier (batch, flex: background), else the key's, else
  // chat. Errors: kInvalidArgument, field = the header or field: there is no such class or tier, they contradict each
  // other, or the key may not ask for it.
  Result<Route> route(const Identity& identity, const Wishes& wishes) const;
  // Of a request that is refused before it could say anything.
  RequestLabels labels_of(const Identity& identity) const;

 private:
  KeyRing keys_;
};

}  // namespace takt::route
