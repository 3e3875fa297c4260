#include "route/router.h"

#include <algorithm>
#include <cctype>

#include "route/service_class.h"

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

constexpr const char* kClassHeader = "x-takt-class";
constexpr const char* kTierHeader = "x-takt-tier";
constexpr const char* kBatchClass = "background";

std::string default_class(const Identity& identity) {
  if (!identity.service_class.empty()) return identity.service_class;
  return identity.batch_only ? kBatchClass : "chat";
}

// The tier that a header or the body asks for, and who asked.
struct TierWish {
  std::optional<Tier> tier;
  const char* field = "";
};

Result<TierWish> wished_tier(const Wishes& wishes) {
  if (!wishes.tier.empty() && wishes.tier != "realtime" && wishes.tier != "batch")
    return Error::invalid(kTierHeader, "'x-takt-tier' must be realtime or batch");
  const bool flex = wishes.service_tier == "flex";
  if (flex && wishes.tier == "realtime")
    return Error::invalid("service_tier", "'service_tier' is flex, and 'x-takt-tier' asks for realtime: send one");
  if (!wishes.tier.empty()) return TierWish{wishes.tier == "batch" ? Tier::kBatch : Tier::kRealtime, kTierHeader};
  if (flex) return TierWish{Tier::kBatch, "service_tier"};
  return TierWish{};
}

Result<const ServiceClass*> choose_class(const Identity& identity, const Wishes& wishes) {
  Result<TierWish> wish = wished_tier(wishes);
  if (!wish) return wish.error();
  std::string name = wishes.service_class.empty() ? default_class(identity) : wishes.service_class;
  const ServiceClass* chosen = find_service_class(name);
  if (chosen == nullptr) {
    return Error::invalid(kClassHeader, "There is no service class of that name; there are " + service_class_names());
  }
  if (wish->tier && chosen->tier != *wish->tier) {
    if (!wishes.service_class.empty()) {
      return Error::invalid(wish->field, "Class " + chosen->name + " is in the " + to_string(chosen->tier) +
                                             " tier: ask for one of the two");
    }
    chosen = find_service_class(*wish->tier == Tier::kBatch ? kBatchClass : "chat");
  }
  if (identity.batch_only && chosen->tier != Tier::kBatch) {
    return Error::invalid(wishes.service_class.empty() ? wish->field : kClassHeader,
                          "This API key may only ask for the batch tier");
  }
  return chosen;
}

}  // namespace

std::optional<Identity> Router::identify(std::string_view authorization, std::string_view x_api_key) const {
  if (keys_.empty()) return Identity{};
  auto by_bearer = keys_.find(bearer_key(authorization));
  auto by_header = keys_.find(x_api_key);
  return by_bearer ? by_bearer : by_header;
}

RequestLabels Router::labels_of(const Identity& identity) const {
  RequestLabels labels;
  labels.application = identity.application;
  labels.tenant = identity.tenant;
  if (const ServiceClass* service_class = find_service_class(default_class(identity))) {
    labels.service_class = service_class->name;
    labels.tier = service_class->tier;
  }
  return labels;
}

Result<Route> Router::route(const Identity& identity, const Wishes& wishes) const {
  Result<const ServiceClass*> chosen = choose_class(identity, wishes);
  if (!chosen) return chosen.error();
  const ServiceClass& service_class = **chosen;
  Route route;
  route.labels.application = identity.application;
  route.labels.tenant = identity.tenant;
  route.labels.user = wishes.user;
  route.labels.service_class = service_class.name;
  route.labels.tier = service_class.tier;
  route.targets = service_class.targets;
  route.cache_salt = identity.cache_salt;
  return route;
}

}  // namespace takt::route
