// Who may call the server, as whom, and what kind of work their requests are.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/request.h"
#include "core/service_class.h"

namespace takt::route {

// What one key may ask for. 0: no limit.
struct KeyLimits {
  std::uint32_t requests_per_minute = 0;
  std::uint64_t tokens_per_minute = 0;  // prompts and answers
  std::uint32_t max_in_flight = 0;

  bool any() const { return requests_per_minute > 0 || tokens_per_minute > 0 || max_in_flight > 0; }
};

struct ApiKey {
  std::string key;              // 8 to 512 printable ASCII characters without spaces
  std::string tenant{};         // whose work it is, for fairness and cache scope; empty: "default"
  std::string application{};    // which tool calls; may be empty
  std::string service_class{};  // of requests that nothing else gives one; empty: chat
  bool batch_only = false;      // may not ask for the realtime tier
  bool admin = false;           // may use /admin/*
  bool delegate = false;        // speaks for others: tenant, application and user of a request's own words count
  std::string name{};           // what rules call it
  double weight = 1.0;          // of its tenant among others; above 0
  KeyLimits limits{};
  std::vector<std::string> models{};  // it may use; empty: all
  std::string where{};                // it stands, for messages: "Key file, line 7"
  std::string option{};               // that it comes from, as errors name it; empty: "api_key"
};

// One class's settings: its place, its promises, its bounds.
struct ClassSettings {
  ServiceTargets targets;
  ClassQueue queue;
  ClassLimits limits;  // with the tier
};

// Hours of the day with other settings (class_hours.h). What they do not name is the class's own.
struct ClassHours {
  std::string from = "00:00";
  std::string to = "24:00";
  std::vector<std::string> days;  // mon to sun; empty: all
  ClassSettings settings;
};

// Errors: kInvalidArgument, field "from", "to" or "days".
Status check_hours(const ClassHours& hours);

struct ClassOptions {
  std::string name;
  ClassSettings always;
  std::deque<ClassHours> hours;  // the first that holds counts
};

// voice, code, chat, agent: realtime; background, index: batch.
std::deque<ClassOptions> built_in_classes();
inline constexpr const char* kDefaultClass = "chat";
inline constexpr const char* kBatchClass = "background";  // of requests that ask for the batch tier and name no class

// Requests that match every condition belong to the class. A list matches when one of its patterns does; `*` in a
// pattern stands for any characters. An empty list asks for nothing.
struct RuleOptions {
  std::string service_class;
  std::vector<std::string> key;  // names of keys
  std::vector<std::string> tenant;
  std::vector<std::string> application;
  std::vector<std::string> user;
  std::vector<std::string> model;
  std::vector<std::string> path;
  std::vector<std::string> header;  // "x-takt-NAME=PATTERN"
  // Prompt length, before it is tokenized: a token id is one, four bytes of text are one.
  std::uint64_t min_prompt_tokens = 0;
  std::uint64_t max_prompt_tokens = std::uint64_t{1} << 40;
  bool overrides_request = false;  // also where the request itself names a class or a tier
};

// Errors: kInvalidArgument, field = the rule's setting at fault: it names no class, or a condition that nothing meets.
Status check_rule(const RuleOptions& rule);

// Without keys every caller is let in: whether that is allowed on the listening address is the command line's question.
struct RouteOptions {
  std::vector<ApiKey> keys;
  std::deque<ClassOptions> classes = built_in_classes();
  std::deque<RuleOptions> rules;  // the first that matches counts
};

}  // namespace takt::route
