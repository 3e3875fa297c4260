#include "route/router.h"

#include <gtest/gtest.h>

#include <fstream>

#include "route/service_class.h"

namespace takt::route {
namespace {

ServiceClasses classes() {
  return ServiceClasses::create(built_in_classes(), {}, nullptr).value();
}

Router router_with(std::vector<ApiKey> keys) {
  RouteOptions options;
  options.keys = std::move(keys);
  auto table = RoutingTable::create(options, {}, nullptr);
  EXPECT_TRUE(table.ok());
  return Router(std::move(table).value());
}

TEST(Router, LetsEveryoneInWithoutKeys) {
  const auto identity = router_with({}).identify("", "");
  ASSERT_TRUE(identity.has_value());
  EXPECT_EQ(identity->tenant, "default");
  EXPECT_EQ(identity->cache_salt, 0u);
}

TEST(Router, TakesAKeyFromEitherHeader) {
  const Router router = router_with({{"sk-alpha-1", "team", "editor"}, {"sk-beta-22", "", ""}});
  for (const auto& identity : {router.identify("Bearer sk-alpha-1", ""), router.identify("bearer   sk-alpha-1", ""),
                               router.identify("", "sk-alpha-1"), router.identify("Basic xyz", "sk-alpha-1")}) {
    ASSERT_TRUE(identity.has_value());
    EXPECT_EQ(identity->tenant, "team");
    EXPECT_EQ(identity->application, "editor");
  }
  EXPECT_EQ(router.identify("Bearer sk-beta-22", "")->tenant, "default");
}

// F18
TEST(Router, RefusesEverythingThatIsNotAKey) {
  const Router router = router_with({{"sk-alpha-1", "", ""}});
  for (const std::string_view header :
       {"", "Bearer", "Bearer ", "Bearer sk-alpha-", "Bearer sk-alpha-11", "sk-alpha-1", "Basic sk-alpha-1"}) {
    EXPECT_FALSE(router.identify(header, "").has_value()) << header;
  }
  EXPECT_FALSE(router.identify("", "x").has_value());
  EXPECT_FALSE(router.identify("Bearer " + std::string(100'000, 'x'), "").has_value());
}

// B14 in part: the cache's scope comes from who calls, never from the request.
TEST(Router, TenantsDoNotShareACacheSalt) {
  const Router router = router_with({{"sk-alpha-1", "a", ""}, {"sk-beta-22", "b", ""}, {"sk-gamma-3", "a", ""}});
  const auto salt = [&](std::string_view key) { return router.route(*router.identify("", key), {})->cache_salt; };
  EXPECT_EQ(salt("sk-alpha-1"), salt("sk-gamma-3"));
  EXPECT_NE(salt("sk-alpha-1"), salt("sk-beta-22"));
  EXPECT_NE(salt("sk-alpha-1"), 0u);
}

TEST(Router, LabelsARequestAsChat) {
  const Router router = router_with({});
  const auto route = router.route(*router.identify("", ""), {"", "", "", "anna"});
  ASSERT_TRUE(route.ok());
  EXPECT_EQ(route->labels.service_class, "chat");
  EXPECT_EQ(route->labels.user, "anna");
  EXPECT_EQ(route->labels.tier, Tier::kRealtime);
}

TEST(Router, ARequestNamesItsClassOrItsTier) {
  const Router router = router_with({});
  const Identity anybody;
  const auto class_of = [&](const Wishes& wishes) {
    const auto route = router.route(anybody, wishes);
    return route.ok() ? route->labels.service_class + "/" + to_string(route->labels.tier) : route.error().field;
  };
  EXPECT_EQ(class_of({"voice", "", "", ""}), "voice/realtime");
  EXPECT_EQ(class_of({"index", "", "", ""}), "index/batch");
  EXPECT_EQ(class_of({"", "batch", "", ""}), "background/batch");
  EXPECT_EQ(class_of({"", "realtime", "", ""}), "chat/realtime");
  EXPECT_EQ(class_of({"", "", "flex", ""}), "background/batch");
  EXPECT_EQ(class_of({"", "", "auto", ""}), "chat/realtime");
  EXPECT_EQ(class_of({"index", "batch", "flex", ""}), "index/batch");
  EXPECT_EQ(class_of({"chat", "batch", "", ""}), "x-takt-tier");
  EXPECT_EQ(class_of({"chat", "", "flex", ""}), "service_tier");
  EXPECT_EQ(class_of({"", "realtime", "flex", ""}), "service_tier");
  EXPECT_EQ(class_of({"", "highest", "", ""}), "x-takt-tier");
}

TEST(Router, AnUnknownClassIsRefusedWithTheNamesThereAre) {
  const auto route = router_with({}).route({}, {"chatt", "", "", ""});
  ASSERT_FALSE(route.ok());
  EXPECT_EQ(route.error().field, "x-takt-class");
  const ServiceClasses all = classes();
  for (const ServiceClass& known : all.all()) EXPECT_NE(route.error().message.find(known.name), std::string::npos);
}

TEST(Router, AKeyHasAClassOfItsOwnAndCanNotRaiseItsTier) {
  const auto keys =
      parse_key_file("sk-night-1 tier=batch\nsk-voice-1 class=voice\nsk-index-1 class=index tier=batch\n");
  ASSERT_TRUE(keys.ok()) << keys.error().message;
  const Router router = router_with(*keys);
  const auto class_of = [&](const char* key, const Wishes& wishes) {
    const auto route = router.route(*router.identify("", key), wishes);
    return route.ok() ? route->labels.service_class : "refused: " + route.error().field;
  };
  EXPECT_EQ(class_of("sk-night-1", {}), "background");
  EXPECT_EQ(class_of("sk-night-1", {"index", "", "", ""}), "index");
  EXPECT_EQ(class_of("sk-night-1", {"chat", "", "", ""}), "refused: x-takt-class");
  EXPECT_EQ(class_of("sk-night-1", {"", "realtime", "", ""}), "refused: x-takt-tier");
  EXPECT_EQ(class_of("sk-voice-1", {}), "voice");
  EXPECT_EQ(class_of("sk-voice-1", {"", "", "flex", ""}), "background");
  EXPECT_EQ(class_of("sk-index-1", {}), "index");
}

// The option, the place, and never the key.
TEST(KeyRing, AFaultNamesWhereTheKeyStands) {
  const auto error_of = [](const std::vector<ApiKey>& keys) {
    const auto ring = KeyRing::create(keys, classes());
    return ring.ok() ? std::string() : ring.error().field + " | " + ring.error().message;
  };
  const auto from_file = parse_key_file("# ours\nsk-alpha-1 name=a\nsk-beta-22 name=a\n").value();
  EXPECT_EQ(error_of(from_file), "auth.api_key_file | Key file, line 3: another key is named 'a' too");
  EXPECT_EQ(error_of(parse_key_file("sk-alpha-1\nsk-alpha-1\n").value()),
            "auth.api_key_file | Key file, line 2 is there twice");
  const std::string wrong = " must have 8 to 512 printable ASCII characters and no space";
  EXPECT_EQ(error_of({{.key = "short", .where = "auth.admin_keys, key 1", .option = "auth.admin_keys"}}),
            "auth.admin_keys | auth.admin_keys, key 1" + wrong);
  EXPECT_EQ(error_of({{.key = "sk-alpha-1"}, {.key = "sk canary 12"}}), "api_key | API key 2" + wrong);
  EXPECT_EQ(error_of({{.key = "sk-alpha-1", .service_class = "chatt"}}).find("sk-alpha"), std::string::npos);
  const std::string names = ": name, tenant and application have at most 128 bytes and no control characters";
  EXPECT_EQ(error_of(parse_key_file("sk-alpha-1 tenant=a\033[31mred\n").value()),
            "auth.api_key_file | Key file, line 1" + names);
  EXPECT_EQ(error_of({{.key = "sk-alpha-1", .application = std::string(129, 'a')}}), "api_key | API key 1" + names);
  EXPECT_EQ(error_of({{.key = "sk-alpha-1",
                       .tenant = "Gr\xC3\xB6\xC3\x9F"
                                 "e"}}),
            "");
}

TEST(Router, AKeysClassMustExistAndFitItsTier) {
  EXPECT_FALSE(KeyRing::create({{"sk-alpha-1", "", "", "chatt", false}}, classes()).ok());
  EXPECT_FALSE(KeyRing::create({{"sk-alpha-1", "", "", "chat", true}}, classes()).ok());
  EXPECT_FALSE(parse_key_file("sk-alpha-1 tier=gold\n").ok());
}

TEST(ServiceClasses, HaveTheirTargets) {
  const ServiceClasses all = classes();
  EXPECT_EQ(all.find("voice")->settings.targets.itl, std::chrono::milliseconds(60));
  EXPECT_EQ(all.find("voice")->settings.targets.max_queue_wait, std::chrono::seconds(2));
  EXPECT_EQ(all.find("voice")->settings.targets.window, Duration::zero());
  EXPECT_EQ(all.find("chat")->settings.targets.window, std::chrono::milliseconds(20));
  EXPECT_EQ(all.find("agent")->settings.targets.ttft, std::chrono::seconds(3));
  EXPECT_EQ(all.find("index")->limits().min_share, 0.05);
  EXPECT_EQ(all.find("none"), nullptr);
}

TEST(KeyRing, RefusesWeakAndDoubledKeysWithoutShowingThem) {
  for (const std::vector<ApiKey>& keys : {std::vector<ApiKey>{{"short", "", ""}},
                                          {{"has a space", "", ""}},
                                          {{"sk-alpha-1", "", ""}, {"sk-alpha-1", "", ""}},
                                          {{std::string(513, 'x'), "", ""}}}) {
    const auto ring = KeyRing::create(keys, classes());
    ASSERT_FALSE(ring.ok());
    EXPECT_EQ(ring.error().message.find(keys[0].key), std::string::npos);
  }
}

TEST(KeyFile, HoldsAKeyALineWithItsTenant) {
  const auto keys = parse_key_file("# ours\n\nsk-alpha-1 tenant=team application=editor\n  sk-beta-22\r\n");
  ASSERT_TRUE(keys.ok()) << keys.error().message;
  ASSERT_EQ(keys->size(), 2u);
  EXPECT_EQ((*keys)[0].tenant, "team");
  EXPECT_EQ((*keys)[0].application, "editor");
  EXPECT_EQ((*keys)[1].key, "sk-beta-22");
}

// H9
TEST(KeyFile, HoldsWhatAKeyMayAskFor) {
  const auto keys = parse_key_file(
      "sk-alpha-1 name=night weight=0.5 requests_per_minute=12 tokens_per_minute=5000 max_in_flight=3 "
      "models=tiny,small delegate admin\n");
  ASSERT_TRUE(keys.ok()) << keys.error().message;
  const ApiKey& key = keys->front();
  EXPECT_EQ(key.name, "night");
  EXPECT_EQ(key.weight, 0.5);
  EXPECT_EQ(key.limits.requests_per_minute, 12U);
  EXPECT_EQ(key.limits.tokens_per_minute, 5000U);
  EXPECT_EQ(key.limits.max_in_flight, 3U);
  EXPECT_EQ(key.models, (std::vector<std::string>{"tiny", "small"}));
  EXPECT_TRUE(key.delegate && key.admin);
}

TEST(KeyFile, AWrongWordIsNamedWithItsLineAndWhatItMayBe) {
  for (const auto& [words, allowed] :
       std::vector<std::pair<const char*, const char*>>{{"weight=0", "0.01 to 100"},
                                                        {"weight=nan", "0.01 to 100"},
                                                        {"requests_per_minute=-1", "1 to 1000000"},
                                                        {"requests_per_minute=1.5", "1 to 1000000"},
                                                        {"tokens_per_minute=", "1 to"},
                                                        {"max_in_flight=many", "1 to 1000000"},
                                                        {"models=", "NAME,NAME"},
                                                        {"tier=gold", "tier=realtime"},
                                                        {"Admin", "admin"},
                                                        {"name=", "name="}}) {
    const auto keys = parse_key_file("# keys\nsk-alpha-1\n\nsk-beta-22 " + std::string(words) + "\n");
    ASSERT_FALSE(keys.ok()) << words;
    EXPECT_NE(keys.error().message.find("line 4"), std::string::npos) << keys.error().message;
    EXPECT_NE(keys.error().message.find(allowed), std::string::npos) << keys.error().message;
  }
}

TEST(KeyFile, FaultsBetweenLinesNameTheLineToo) {
  for (const char* text : {"\nsk-alpha-1\nsk-alpha-1\n", "\nsk-alpha-1 name=a\nsk-beta-22 name=a\n",
                           "\nsk-alpha-1\nsk-beta-22 class=chatt\n", "\n\nshort\n"}) {
    const auto ring = KeyRing::create(parse_key_file(text).value(), classes());
    ASSERT_FALSE(ring.ok()) << text;
    EXPECT_NE(ring.error().message.find("line 3"), std::string::npos) << ring.error().message;
  }
}

TEST(KeyFile, NamesTheLineAtFault) {
  const auto keys = parse_key_file("sk-alpha-1\nsk-beta-22 color=red\n");
  ASSERT_FALSE(keys.ok());
  EXPECT_NE(keys.error().message.find("line 2"), std::string::npos);
  EXPECT_FALSE(parse_key_file("# nothing\n").ok());
  EXPECT_EQ(read_key_file("/nonexistent/keys").error().code, ErrorCode::kIo);
}

}  // namespace
}  // namespace takt::route
