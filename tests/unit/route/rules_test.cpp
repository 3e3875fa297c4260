#include "route/rules.h"

#include <gtest/gtest.h>

#include "route/router.h"

namespace takt::route {
namespace {

TEST(Patterns, AStarStandsForAnyCharacters) {
  EXPECT_TRUE(matches_pattern("abc", "abc"));
  EXPECT_FALSE(matches_pattern("abc", "abcd"));
  EXPECT_TRUE(matches_pattern("", ""));
  EXPECT_FALSE(matches_pattern("", "a"));
  EXPECT_TRUE(matches_pattern("*", ""));
  EXPECT_TRUE(matches_pattern("a*c", "abbbc"));
  EXPECT_TRUE(matches_pattern("a*b*c", "axxbyybzzc"));
  EXPECT_FALSE(matches_pattern("a*b*c", "axxc"));
  EXPECT_TRUE(matches_pattern("**a**", "xay"));
  // No pattern makes it take long.
  EXPECT_FALSE(matches_pattern(std::string(200, '*') + "a*a*a*a*a*b", std::string(5000, 'a')));
}

Router router_with_rules(std::deque<RuleOptions> rules, std::string_view key_file = {}) {
  RouteOptions options;
  options.rules = std::move(rules);
  if (!key_file.empty()) options.keys = parse_key_file(key_file).value();
  auto table = RoutingTable::create(options, {}, nullptr);
  EXPECT_TRUE(table.ok()) << (table.ok() ? "" : table.error().field + ": " + table.error().message);
  return Router(std::move(table).value());
}

std::string class_of(const Router& router, const Identity& identity, const Wishes& wishes) {
  const auto route = router.route(identity, wishes);
  return route.ok() ? route->labels.service_class + ", " + route->why : "refused: " + route.error().field;
}

RuleOptions to(std::string service_class) {
  RuleOptions rule;
  rule.service_class = std::move(service_class);
  return rule;
}

TEST(Rules, TheFirstThatMatchesCounts) {
  RuleOptions by_task = to("voice");
  by_task.header = {"x-takt-task=speak*"};
  RuleOptions by_model = to("index");
  by_model.model = {"tiny", "small-*"};
  RuleOptions long_prompts = to("background");
  long_prompts.min_prompt_tokens = 10'000;
  const Router router = router_with_rules({by_task, by_model, long_prompts});
  const Identity anybody = Identity::anybody();
  Wishes wishes;
  EXPECT_EQ(class_of(router, anybody, wishes), "chat, default");
  wishes.model = "small-1b";
  EXPECT_EQ(class_of(router, anybody, wishes), "index, rule 2");
  wishes.prompt_tokens = 10'000;
  EXPECT_EQ(class_of(router, anybody, wishes), "index, rule 2");
  wishes.model = "big";
  EXPECT_EQ(class_of(router, anybody, wishes), "background, rule 3");
  wishes.prompt_tokens = 9'999;
  EXPECT_EQ(class_of(router, anybody, wishes), "chat, default");
  wishes.headers = {{"x-takt-task", "speak to me"}};
  EXPECT_EQ(class_of(router, anybody, wishes), "voice, rule 1");
}

TEST(Rules, EveryConditionMustHold) {
  RuleOptions rule = to("agent");
  rule.key = {"tools"};
  rule.tenant = {"office"};
  rule.application = {"agent-*"};
  rule.user = {"anna"};
  rule.model = {"m"};
  rule.path = {"/v1/chat/*"};
  rule.header = {"x-takt-task=plan"};
  const RuleFacts all{"tools", "office", "agent-7", "anna", "m", "/v1/chat/completions", nullptr, 5};
  const std::vector<std::pair<std::string, std::string>> headers = {{"x-takt-task", "plan"}};
  RuleFacts facts = all;
  EXPECT_FALSE(matches(rule, facts));
  facts.headers = &headers;
  EXPECT_TRUE(matches(rule, facts));
  for (std::string_view RuleFacts::*field : {&RuleFacts::key, &RuleFacts::tenant, &RuleFacts::application,
                                             &RuleFacts::user, &RuleFacts::model, &RuleFacts::path}) {
    RuleFacts other = facts;
    other.*field = "other";
    EXPECT_FALSE(matches(rule, other));
  }
  EXPECT_TRUE(matches(to("chat"), {})) << "no condition: everybody";
}

TEST(Rules, WhatTheRequestNamesComesFirstUnlessTheRuleOverrides) {
  RuleOptions plain = to("index");
  RuleOptions firm = to("background");
  firm.application = {"tickets"};
  firm.overrides_request = true;
  const Router router = router_with_rules({plain, firm});
  const Identity anybody = Identity::anybody();
  Wishes wishes;
  wishes.service_class = "voice";
  EXPECT_EQ(class_of(router, anybody, wishes), "voice, header x-takt-class");
  wishes.application = "tickets";
  EXPECT_EQ(class_of(router, anybody, wishes), "background, rule 2");
  wishes.service_class = "no-such-class";
  EXPECT_EQ(class_of(router, anybody, wishes), "refused: x-takt-class") << "a wrong header is told in any case";
  Wishes by_tier;
  by_tier.tier = "realtime";
  EXPECT_EQ(class_of(router, anybody, by_tier), "chat, default") << "the rule's class is of the other tier";
  by_tier.tier = "batch";
  EXPECT_EQ(class_of(router, anybody, by_tier), "index, rule 1");
}

// What a rule may still give another class, once the body is known, is not refused by the head.
TEST(Rules, TheHeadIsRefusedOnlyForWhatNoBodyCouldAvert) {
  RuleOptions by_model = to("index");
  by_model.model = {"tiny"};
  by_model.overrides_request = true;
  RuleOptions yielding = to("index");
  yielding.model = {"tiny"};
  const std::string_view keys = "sk-night-1 tier=batch\n";
  const Router without = router_with_rules({}, keys);
  const Router with_yielding = router_with_rules({yielding}, keys);
  const Router with_overriding = router_with_rules({by_model}, keys);
  const auto refused_field = [](const Router& router, const Wishes& head) {
    const auto subject = router.judge_head(*router.identify("", "sk-night-1"), head);
    return subject.ok() ? std::string() : subject.error().field;
  };
  const Wishes above{"voice", "", "", ""};
  EXPECT_EQ(refused_field(without, above), "x-takt-class");
  EXPECT_EQ(refused_field(with_yielding, above), "x-takt-class");
  EXPECT_EQ(refused_field(with_overriding, above), "");
  Wishes whole = above;
  whole.model = "tiny";
  EXPECT_EQ(class_of(with_overriding, *with_overriding.identify("", "sk-night-1"), whole), "index, rule 1");
  EXPECT_EQ(class_of(with_overriding, *with_overriding.identify("", "sk-night-1"), above), "refused: x-takt-class");

  const Wishes realtime{"", "realtime", "", ""};
  EXPECT_EQ(refused_field(without, realtime), "x-takt-tier");
  EXPECT_EQ(refused_field(with_overriding, realtime), "");
  for (const Router* router : {&without, &with_yielding, &with_overriding}) {
    EXPECT_EQ(refused_field(*router, {"voyce", "", "", ""}), "x-takt-class");
    EXPECT_EQ(refused_field(*router, {"", "gold", "", ""}), "x-takt-tier");
    Wishes late;
    late.deadline_ms = "-1";
    EXPECT_EQ(refused_field(*router, late), "x-takt-deadline-ms");
    Wishes long_name;
    long_name.tenant = std::string(129, 'x');
    EXPECT_EQ(refused_field(*router, long_name), "x-takt-tenant");
    for (const std::string& user : {std::string(129, 'x'), std::string("caf\xc3\xa9"), std::string("a\tb")})
      EXPECT_EQ(refused_field(*router, {"", "", "", user}), "x-takt-user") << user;
    EXPECT_EQ(refused_field(*router, {"", "", "", std::string(128, 'x')}), "");
    EXPECT_EQ(refused_field(*router, {}), "");
  }
}

TEST(Rules, ARuleDoesNotRaiseAKeyAboveItsTier) {
  const Router router = router_with_rules({to("voice"), to("index")}, "sk-night-1 tier=batch name=night\nsk-other-1\n");
  EXPECT_EQ(class_of(router, *router.identify("", "sk-night-1"), {}), "index, rule 2");
  EXPECT_EQ(class_of(router, *router.identify("", "sk-other-1"), {}), "voice, rule 1");
}

TEST(Rules, ContradictionsAreNamedByRuleAndSetting) {
  const auto error_of = [](RuleOptions rule) {
    RouteOptions options;
    options.rules = {to("chat"), std::move(rule)};
    const auto table = RoutingTable::create(options, {}, nullptr);
    return table.ok() ? std::string("none") : table.error().field;
  };
  EXPECT_EQ(error_of(to("")), "route.2.class");
  EXPECT_EQ(error_of(to("chatt")), "route.2.class");
  RuleOptions rule = to("chat");
  rule.min_prompt_tokens = 5;
  rule.max_prompt_tokens = 4;
  EXPECT_EQ(error_of(rule), "route.2.min_prompt_tokens");
  rule = to("chat");
  rule.key = {"nobody"};
  EXPECT_EQ(error_of(rule), "route.2.key");
  for (const char* wrong : {"authorization=x", "x-takt-task", "X-Takt-Task=a", "=a"}) {
    rule = to("chat");
    rule.header = {wrong};
    EXPECT_EQ(error_of(rule), "route.2.header") << wrong;
  }
}

TEST(Router, OnlyKeysThatSpeakForOthersNameTenantUserAndApplication) {
  const Router router =
      router_with_rules({}, "sk-plain-1 tenant=office application=editor\nsk-front-1 tenant=front delegate\n");
  Wishes wishes;
  wishes.tenant = "family";
  wishes.user = "anna";
  wishes.application = "kitchen";
  const auto plain = router.route(*router.identify("", "sk-plain-1"), wishes);
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->labels.tenant, "office");
  EXPECT_EQ(plain->labels.application, "editor");
  EXPECT_EQ(plain->labels.user, "");
  const auto front = router.route(*router.identify("", "sk-front-1"), wishes);
  ASSERT_TRUE(front.ok());
  EXPECT_EQ(front->labels.tenant, "family");
  EXPECT_EQ(front->labels.application, "kitchen");
  EXPECT_EQ(front->labels.user, "anna");
  EXPECT_NE(front->cache_salt, plain->cache_salt);
  EXPECT_EQ(front->cache_salt, cache_salt_of("family")) << "the prefix cache's scope is the tenant it speaks for";
  EXPECT_EQ(router.route(*router.identify("", "sk-front-1"), {})->labels.tenant, "front");
}

TEST(Router, NamesInHeadersAreShortAndPrintable) {
  const Router router = router_with_rules({});
  Wishes wishes;
  wishes.tenant = std::string(129, 'x');
  EXPECT_EQ(router.route(Identity::anybody(), wishes).error().field, "x-takt-tenant");
  wishes.tenant = "a\x01";
  EXPECT_EQ(router.route(Identity::anybody(), wishes).error().field, "x-takt-tenant");
  wishes.tenant.clear();
  wishes.application = std::string(129, 'x');
  EXPECT_EQ(router.route(Identity::anybody(), wishes).error().field, "x-takt-app");
}

TEST(Router, ADeadlineIsMillisecondsFromNow) {
  const Router router = router_with_rules({});
  Wishes wishes;
  wishes.deadline_ms = "1500";
  EXPECT_EQ(router.route(Identity::anybody(), wishes)->deadline, std::chrono::milliseconds(1500));
  wishes.deadline_ms = "0.5";
  EXPECT_EQ(router.route(Identity::anybody(), wishes)->deadline, std::chrono::microseconds(500));
  for (const char* wrong : {"0", "-1", "nan", "inf", "1e3", "abc", "1500ms", " 5", "86400001", "0.0", "-0"}) {
    wishes.deadline_ms = wrong;
    const auto route = router.route(Identity::anybody(), wishes);
    ASSERT_FALSE(route.ok()) << wrong;
    EXPECT_EQ(route.error().field, "x-takt-deadline-ms") << wrong;
  }
}

// H9: a new table holds from the next request on; a caller who was let in keeps what they were.
TEST(Router, KeysAreReplacedWhileItServes) {
  Router router = router_with_rules({}, "sk-old-key tenant=a\n");
  const auto old = router.identify("", "sk-old-key");
  RouteOptions options;
  options.keys = parse_key_file("sk-new-key tenant=b weight=2.5\n").value();
  router.replace(RoutingTable::create(options, {}, router.table().get()).value());
  EXPECT_FALSE(router.identify("", "sk-old-key"));
  EXPECT_EQ(router.route(*router.identify("", "sk-new-key"), {})->weight, 2.5);
  EXPECT_EQ(router.route(*old, {})->labels.tenant, "a");
}

}  // namespace
}  // namespace takt::route
