// Which caller a request comes from and which service class it belongs to. One class today, `chat`.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/request.h"
#include "route/key_ring.h"

namespace takt::route {

struct Route {
  RequestLabels labels;
  ServiceTargets targets;
  std::uint64_t cache_salt = 0;
};

class Router {
 public:
  explicit Router(KeyRing keys, ServiceTargets chat_targets = {})
      : keys_(std::move(keys)), chat_targets_(chat_targets) {}

  // The caller of a request with these headers; empty when keys are needed and none of them is right. `authorization`
  // is "Bearer KEY" (the scheme in any case); `x_api_key` the bare key. One of the two is enough.
  std::optional<Identity> identify(std::string_view authorization, std::string_view x_api_key) const;

  // `user`: as the request names its end user; may be empty.
  Route route(const Identity& identity, std::string user) const;

 private:
  KeyRing keys_;
  ServiceTargets chat_targets_;
};

}  // namespace takt::route
