#include "route/router.h"

#include <algorithm>
#include <cctype>

namespace takt::route {

namespace {

// The key of "Bearer KEY"; empty for anything else.
std::string_view bearer_key(std::string_view authorization) {
  constexpr std::string_view kScheme = "bearer ";
  if (authorization.size() <= kScheme.size()) return {};
  const bool is_bearer = std::equal(kScheme.begin(), kScheme.end(), authorization.begin(), [](char want, char have) {
    return want == static_cast<char>(std::tolower(static_cast<unsigned char>(have)));
  });
  if (!is_bearer) return {};
  authorization.remove_prefix(kScheme.size());
  authorization.remove_prefix(std::min(authorization.find_first_not_of(' '), authorization.size()));
  return authorization;
}

}  // namespace

std::optional<Identity> Router::identify(std::string_view authorization, std::string_view x_api_key) const {
  if (keys_.empty()) return Identity{};
  auto by_bearer = keys_.find(bearer_key(authorization));
  auto by_header = keys_.find(x_api_key);
  return by_bearer ? by_bearer : by_header;
}

Route Router::route(const Identity& identity, std::string user) const {
  Route route;
  route.labels.application = identity.application;
  route.labels.tenant = identity.tenant;
  route.labels.user = std::move(user);
  route.targets = chat_targets_;
  route.cache_salt = identity.cache_salt;
  return route;
}

}  // namespace takt::route
