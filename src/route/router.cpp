#include "route/router.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <chrono>

#include "route/rules.h"

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
constexpr const char* kDeadlineHeader = "x-takt-deadline-ms";
constexpr std::size_t kLongestName = 128;

const char* default_class(const Identity& identity) {
  if (!identity.service_class.empty()) return identity.service_class.c_str();
  return identity.batch_only ? kBatchClass : kDefaultClass;
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

struct Choice {
  const ServiceClass* service_class = nullptr;
  std::string why;
};

Status check_name(const char* header, const std::string& name) {
  const bool printable = std::all_of(name.begin(), name.end(), [](char c) { return c >= ' ' && c < 127; });
  if (name.size() <= kLongestName && printable) return {};
  return Error::invalid(header, "'" + std::string(header) + "' must have at most " + std::to_string(kLongestName) +
                                    " printable ASCII characters");
}

Result<Subject> subject_of(const Identity& identity, const Wishes& wishes) {
  if (Status sound = check_name("x-takt-tenant", wishes.tenant); !sound) return sound.error();
  if (Status sound = check_name("x-takt-app", wishes.application); !sound) return sound.error();
  Subject subject{identity.tenant, identity.application, {}, false};
  if (!identity.delegate) return subject;
  subject.user = wishes.user;
  subject.by_request = !wishes.tenant.empty();
  if (subject.by_request) subject.tenant = wishes.tenant;
  if (!wishes.application.empty()) subject.application = wishes.application;
  return subject;
}

bool may_use(const Identity& identity, const ServiceClass& service_class) {
  return !identity.batch_only || service_class.limits().tier == Tier::kBatch;
}

Result<Duration> deadline_of(const Wishes& wishes) {
  constexpr double kDay = 24.0 * 3600 * 1000;
  if (wishes.deadline_ms.empty()) return Duration::zero();
  double value = 0;
  const char* end = wishes.deadline_ms.data() + wishes.deadline_ms.size();
  const auto [at, error] = std::from_chars(wishes.deadline_ms.data(), end, value, std::chars_format::fixed);
  if (error != std::errc() || at != end || !(value > 0.0) || value > kDay) {
    return Error::invalid(kDeadlineHeader,
                          "'x-takt-deadline-ms' must be the milliseconds from now in which the first token is wanted: "
                          "above 0, at most 86400000");
  }
  return from_seconds(value / 1000.0);
}

// One request's way to its class.
class ClassChoice {
 public:
  ClassChoice(const RoutingTable& table, const Identity& identity, const Wishes& wishes, const Subject& subject)
      : table_(table), identity_(identity), wishes_(wishes), subject_(subject) {}

  Result<Choice> choose() const {
    const Result<TierWish> wish = wished_tier(wishes_);
    if (!wish) return wish.error();
    if (Status known = check_class(); !known) return known.error();
    if (auto ruled = by_rule(true)) return std::move(*ruled);
    if (!wishes_.service_class.empty()) return by_name(*wish);
    if (auto ruled = by_rule(false); ruled && (!wish->tier || tier_of(*ruled) == *wish->tier)) return std::move(*ruled);
    return by_key(*wish);
  }

  // The body is not known yet. A rule may look at it, and then decide otherwise than the head alone.
  Status check_head() const {
    const bool named = !wishes_.service_class.empty();
    const bool ruled = std::any_of(table_.rules.begin(), table_.rules.end(),
                                   [&](const RuleOptions& rule) { return !named || rule.overrides_request; });
    if (!ruled) {
      const Result<Choice> choice = choose();
      return choice ? Status() : Status(choice.error());
    }
    const Result<TierWish> wish = wished_tier(wishes_);
    return wish ? check_class() : Status(wish.error());
  }

 private:
  Status check_class() const {
    if (wishes_.service_class.empty() || table_.classes.find(wishes_.service_class) != nullptr) return {};
    return Error::invalid(kClassHeader, "There is no service class of that name; there are " + table_.classes.names());
  }

  static Tier tier_of(const Choice& choice) { return choice.service_class->limits().tier; }

  std::optional<Choice> by_rule(bool overriding) const {
    const RuleFacts facts{identity_.name, subject_.tenant, subject_.application, subject_.user,
                          wishes_.model,  wishes_.path,    &wishes_.headers,     wishes_.prompt_tokens};
    for (std::size_t i = 0; i < table_.rules.size(); ++i) {
      const RuleOptions& rule = table_.rules[i];
      if ((overriding && !rule.overrides_request) || !matches(rule, facts)) continue;
      const ServiceClass* found = table_.classes.find(rule.service_class);
      if (found == nullptr || !may_use(identity_, *found)) continue;
      return Choice{found, "rule " + std::to_string(i + 1)};
    }
    return std::nullopt;
  }

  Result<Choice> by_name(const TierWish& wish) const {
    const ServiceClass* named = table_.classes.find(wishes_.service_class);
    if (wish.tier && named->limits().tier != *wish.tier) {
      return Error::invalid(wish.field, "Class " + named->name + " is in the " + to_string(named->limits().tier) +
                                            " tier: ask for one of the two");
    }
    if (!may_use(identity_, *named))
      return Error::invalid(kClassHeader, "This API key may only ask for the batch tier");
    return Choice{named, "header x-takt-class"};
  }

  Result<Choice> by_key(const TierWish& wish) const {
    const char* why = identity_.service_class.empty() ? "default" : "the key's class";
    const ServiceClass* chosen = table_.classes.find(default_class(identity_));
    if (chosen == nullptr) return Error::internal("The default class is gone");
    if (wish.tier && chosen->limits().tier != *wish.tier) {
      chosen = table_.classes.find(*wish.tier == Tier::kBatch ? kBatchClass : kDefaultClass);
      why = wish.field;
    }
    if (!may_use(identity_, *chosen)) return Error::invalid(wish.field, "This API key may only ask for the batch tier");
    return Choice{chosen, why};
  }

  const RoutingTable& table_;
  const Identity& identity_;
  const Wishes& wishes_;
  const Subject& subject_;
};

}  // namespace

Result<RoutingTable> RoutingTable::create(const RouteOptions& options, const LocalTime& now,
                                          const RoutingTable* before) {
  auto classes = ServiceClasses::create(options.classes, now, before != nullptr ? &before->classes : nullptr);
  if (!classes) return classes.error();
  auto keys = KeyRing::create(options.keys, *classes);
  if (!keys) return keys.error();
  for (std::size_t i = 0; i < options.rules.size(); ++i) {
    const RuleOptions& rule = options.rules[i];
    const std::string where = "route." + std::to_string(i + 1) + ".";
    if (Status sound = check_rule(rule); !sound)
      return Error::invalid(where + sound.error().field, sound.error().message);
    if (classes->find(rule.service_class) == nullptr) {
      return Error::invalid(where + "class",
                            "there is no class '" + rule.service_class + "'; there are " + classes->names());
    }
    for (const std::string& name : rule.key) {
      if (name.find('*') != std::string::npos || keys->find_name(name)) continue;
      return Error::invalid(where + "key", "no key is named '" + name + "': the key file gives names (name=NAME)");
    }
  }
  return RoutingTable{std::move(*keys), std::move(*classes), options.rules};
}

void Router::replace(RoutingTable table) {
  auto fresh = std::make_shared<const RoutingTable>(std::move(table));
  const std::lock_guard lock(mutex_);
  table_.swap(fresh);
}

std::shared_ptr<const RoutingTable> Router::table() const {
  const std::lock_guard lock(mutex_);
  return table_;
}

std::optional<Identity> Router::identify(std::string_view authorization, std::string_view x_api_key) const {
  const auto held = table();
  if (held->keys.empty()) return Identity::anybody();
  auto by_bearer = held->keys.find(bearer_key(authorization));
  auto by_header = held->keys.find(x_api_key);
  return by_bearer ? by_bearer : by_header;
}

RequestLabels Router::labels_of(const Identity& identity) const {
  RequestLabels labels;
  labels.application = identity.application;
  labels.tenant = identity.tenant;
  if (const ServiceClass* service_class = table()->classes.find(default_class(identity))) {
    labels.service_class = service_class->name;
    labels.tier = service_class->limits().tier;
  }
  return labels;
}

Result<Subject> Router::judge_head(const Identity& identity, const Wishes& head) const {
  const auto held = table();
  // The body's end user may be any text; what stands in a header may not.
  if (Status sound = check_name("x-takt-user", head.user); !sound) return sound.error();
  Result<Subject> subject = subject_of(identity, head);
  if (!subject) return subject;
  if (Status sound = ClassChoice(*held, identity, head, *subject).check_head(); !sound) return sound.error();
  if (const Result<Duration> deadline = deadline_of(head); !deadline) return deadline.error();
  return subject;
}

Result<Route> Router::route(const Identity& identity, const Wishes& wishes) const {
  const auto held = table();
  Result<Subject> subject = subject_of(identity, wishes);
  if (!subject) return subject.error();
  Result<Choice> choice = ClassChoice(*held, identity, wishes, *subject).choose();
  if (!choice) return choice.error();
  Result<Duration> deadline = deadline_of(wishes);
  if (!deadline) return deadline.error();
  const ServiceClass& service_class = *choice->service_class;
  Route route;
  route.labels.application = std::move(subject->application);
  route.labels.tenant = std::move(subject->tenant);
  route.labels.user = std::move(subject->user);
  route.labels.service_class = service_class.name;
  route.labels.tier = service_class.limits().tier;
  route.targets = service_class.settings.targets;
  route.service_class = service_class.index;
  route.weight = identity.weight;
  route.deadline = *deadline;
  route.cache_salt = subject->by_request ? cache_salt_of(route.labels.tenant) : identity.cache_salt;
  route.why = std::move(choice->why);
  return route;
}

}  // namespace takt::route
