#include "explain_route.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "http/handler.h"
#include "route/class_hours.h"
#include "runtime_config.h"
#include "serve/request_head.h"

namespace takt::app {
namespace {

constexpr std::array kDays = {"mon", "tue", "wed", "thu", "fri", "sat", "sun"};

Result<route::LocalTime> time_of(const std::string& at) {
  if (at.empty()) return route::local_time(system_unix_seconds());
  const auto day = std::find(kDays.begin(), kDays.end(), at.substr(0, 3));
  const auto minute = at.size() == 9 && at[3] == ' ' ? route::minute_of(at.substr(4)) : std::nullopt;
  if (day == kDays.end() || !minute || *minute == 24 * 60)
    return Error::invalid("--at", "must be a day and a time such as \"mon 22:30\"");
  return route::LocalTime{static_cast<int>(day - kDays.begin()), *minute};
}

Result<route::Wishes> wishes_of(const RouteQuestion& question) {
  http::Request head;
  for (const std::string& header : question.headers) {
    const std::size_t colon = header.find(':');
    if (colon == std::string::npos) return Error::invalid("--header", "must be NAME: VALUE, not " + header);
    std::string name = header.substr(0, colon);
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    const std::size_t value = header.find_first_not_of(' ', colon + 1);
    head.headers.emplace_back(std::move(name), value == std::string::npos ? "" : header.substr(value));
  }
  head.path = question.wishes.path;
  route::Wishes wishes = serve::wishes_of(head);
  wishes.service_tier = question.wishes.service_tier;
  if (wishes.user.empty()) wishes.user = question.wishes.user;
  wishes.model = question.wishes.model;
  wishes.prompt_tokens = question.wishes.prompt_tokens;
  return wishes;
}

std::string route_line(const char* name, const std::string& value) {
  char start[32];
  std::snprintf(start, sizeof start, "%-16s", name);
  return start + (value.empty() ? std::string("-") : value) + "\n";
}

std::string whole_milliseconds(Duration time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(time).count()) + " ms";
}

std::string story(const route::Route& route, const route::ServiceClass& service_class) {
  const ClassLimits& limits = service_class.settings.limits;
  return route_line("class", route.labels.service_class) + route_line("because of", route.why) +
         route_line("tier", to_string(route.labels.tier)) + route_line("tenant", route.labels.tenant) +
         route_line("application", route.labels.application) + route_line("user", route.labels.user) +
         route_line("first token",
                    whole_milliseconds(route.deadline > Duration::zero() ? route.deadline : route.targets.ttft)) +
         route_line("between tokens", whole_milliseconds(route.targets.itl)) +
         route_line("longest wait", whole_milliseconds(route.targets.max_queue_wait)) +
         route_line("seats", std::to_string(limits.reserved.seats) + " reserved, at most " +
                                 std::to_string(limits.ceiling.seats));
}

}  // namespace

std::shared_ptr<RouteQuestion> add_route_options(CLI::App& command) {
  auto question = std::make_shared<RouteQuestion>();
  command.add_flag("--route", question->asked, "Tell which class a request would belong to, and why; asks no server");
  command.add_option("--config", question->config_file, "With --route: the server's TOML file");
  command.add_option("--api-key-file", question->key_file, "With --route: the server's key file");
  command.add_option("--key", question->key, "With --route: the name of the caller's key");
  command.add_option("--header", question->headers, "With --route: 'x-takt-NAME: VALUE'; may be given again")
      ->allow_extra_args(false);
  command.add_option("--model", question->wishes.model, "With --route: the model's name");
  command.add_option("--path", question->wishes.path, "With --route: for example /v1/completions")
      ->default_val("/v1/chat/completions");
  command.add_option("--user", question->wishes.user, "With --route: the field user");
  command.add_option("--service-tier", question->wishes.service_tier, "With --route: the field service_tier");
  command.add_option("--prompt-tokens", question->wishes.prompt_tokens, "With --route: length of the prompt");
  command.add_option("--at", question->at, "With --route: at this day and time, 'mon 22:30'");
  return question;
}

Result<std::string> route_story(const RouteQuestion& question) {
  config::Settings flags;
  if (!question.key_file.empty())
    flags.push_back({"auth.api_key_file", config::Setting::Kind::kText, question.key_file, "flag"});
  auto config = RuntimeConfig::read(question.config_file, std::move(flags));
  if (!config) return config.error();
  if (Status zone = route::set_time_zone((*config)->config().process.time_zone); !zone) return zone.error();
  auto now = time_of(question.at);
  if (!now) return now.error();
  auto table = route::RoutingTable::create((*config)->config().route, *now, nullptr);
  if (!table) return table.error();
  std::optional<route::Identity> caller =
      table->keys.empty() ? route::Identity::anybody() : table->keys.find_name(question.key);
  if (!caller || (table->keys.empty() && !question.key.empty())) {
    return Error::invalid("--key", question.key.empty() ? "the server needs a key: give the name of one (name=NAME)"
                                                        : "no key is named '" + question.key + "'");
  }
  auto wishes = wishes_of(question);
  if (!wishes) return wishes.error();
  const route::Router router(std::move(*table));
  const auto route = router.route(*caller, *wishes);
  if (!route)
    return Error{route.error().code, "the server would refuse it: " + route.error().message, route.error().field};
  return story(*route, *router.table()->classes.find(route->labels.service_class));
}

ExitCode explain_route(const RouteQuestion& question) {
  const auto text = route_story(question);
  if (!text) return fail(ExitCode::kUsage, text.error());
  return print(*text);
}

}  // namespace takt::app
