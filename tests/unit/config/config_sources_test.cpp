#include "config/config_sources.h"

#include <gtest/gtest.h>

#include <map>

namespace takt::config {
namespace {

using std::chrono::milliseconds;

Result<std::unique_ptr<LoadedConfig>> load_toml(const std::string& text) {
  auto settings = parse_toml(text, "takt.toml");
  if (!settings) return settings.error();
  return load({std::move(*settings), {}, {}});
}

std::string error_of(const std::string& toml) {
  const auto loaded = load_toml(toml);
  return loaded ? "" : loaded.error().field + " | " + loaded.error().message;
}

void expect_error(const std::string& toml, const std::string& field, const std::string& part) {
  const auto loaded = load_toml(toml);
  ASSERT_FALSE(loaded) << toml;
  EXPECT_EQ(loaded.error().field, field) << loaded.error().message;
  EXPECT_NE(loaded.error().message.find(part), std::string::npos) << loaded.error().message;
}

const route::ClassOptions& class_of(const LoadedConfig& loaded, const std::string& name) {
  for (const auto& service_class : loaded.config.route.classes) {
    if (service_class.name == name) return service_class;
  }
  static const route::ClassOptions kNone;
  ADD_FAILURE() << "no class " << name;
  return kNone;
}

TEST(ClassTables, BuiltInClassesCanBeChangedAndNewOnesMade) {
  const auto loaded = load_toml(R"(
[class.voice]
itl_ms = 50
[class.night]
tier = "batch"
weight = 2
reserved_seats = 3
max_blocks = 0.5
min_share = 0.1
max_waiting = 100
)");
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(class_of(**loaded, "voice").always.targets.itl, milliseconds(50));
  EXPECT_EQ(class_of(**loaded, "voice").always.targets.ttft, milliseconds(300)) << "the rest is as it was";
  const route::ClassSettings& night = class_of(**loaded, "night").always;
  EXPECT_EQ(night.limits.tier, Tier::kBatch);
  EXPECT_EQ(night.limits.weight, 2.0);
  EXPECT_EQ(night.limits.reserved.seats, 3U);
  EXPECT_EQ(night.limits.ceiling.blocks, 0.5);
  EXPECT_EQ(night.limits.min_share, 0.1);
  EXPECT_EQ(night.queue.max_waiting, 100U);
}

TEST(ClassTables, HoursHaveWhatTheyNameAndTheClassesOwnForTheRest) {
  const auto loaded = load_toml(R"(
[class.background]
weight = 3
max_queue_wait_ms = 5000
[[class.background.hours]]
from = "22:00"
to = "06:00"
days = ["mon", "tue"]
min_share = 0.5
window_ms = 1000
[[class.background.hours]]
days = "sun"
weight = 9
)");
  ASSERT_TRUE(loaded) << loaded.error().message;
  const route::ClassOptions& background = class_of(**loaded, "background");
  ASSERT_EQ(background.hours.size(), 2U);
  EXPECT_EQ(background.hours[0].from, "22:00");
  EXPECT_EQ(background.hours[0].settings.limits.min_share, 0.5);
  EXPECT_EQ(background.hours[0].settings.limits.weight, 3.0);
  EXPECT_EQ(background.hours[0].settings.targets.max_queue_wait, milliseconds(5000));
  EXPECT_EQ(background.hours[0].settings.limits.tier, Tier::kBatch);
  EXPECT_EQ(background.hours[1].days, std::vector<std::string>{"sun"});
  EXPECT_EQ(background.hours[1].settings.limits.weight, 9.0);
  EXPECT_EQ(background.hours[1].settings.limits.min_share, 0.05);
}

TEST(ClassTables, RulesAreAListInTheirOrder) {
  const auto loaded = load_toml(R"(
[[route]]
class = "voice"
header = "x-takt-task=speak"
[[route]]
class = "index"
model = ["tiny", "small*"]
overrides_request = true
)");
  ASSERT_TRUE(loaded) << loaded.error().message;
  const auto& rules = (*loaded)->config.route.rules;
  ASSERT_EQ(rules.size(), 2U);
  EXPECT_EQ(rules[0].header, std::vector<std::string>{"x-takt-task=speak"});
  EXPECT_EQ(rules[1].service_class, "index");
  EXPECT_EQ(rules[1].model, (std::vector<std::string>{"tiny", "small*"}));
  EXPECT_TRUE(rules[1].overrides_request);
}

TEST(ClassTables, UnknownKeysAreNamedWithTheNearestOne) {
  expect_error("[class.chat]\nwieght = 2\n", "class.chat.wieght",
               "takt.toml:2: class.chat.wieght: unknown option; the closest is class.chat.weight");
  expect_error("[class.night]\ntire = \"batch\"\n", "class.night.tire", "the closest is class.night.tier");
  expect_error("[[route]]\nclas = \"chat\"\n", "route.1.clas", "the closest is route.1.class");
  expect_error("[[class.chat.hours]]\nform = \"22:00\"\n", "class.chat.hours.1.form",
               "the closest is class.chat.hours.1.from");
  expect_error("[class.\"a b\"]\ntier = \"batch\"\n", "class.a b", "a-z");
  expect_error("[class.chat]\nhours = 3\n", "class.chat.hours", "must be a list of tables");
  EXPECT_FALSE(error_of("[class]\nchat = 1\n").empty());
  EXPECT_FALSE(error_of("route = 1\n").empty());
  EXPECT_EQ(error_of("[class.quiet]\ntier = \"batch\"\n"), "");
}

// A19: contradictions are refused at the start, each with its reason.
TEST(ClassTables, ContradictionsAreRefusedWithTheReason) {
  expect_error("[class.chat]\nwindow_ms = 2000\n", "class.chat.window_ms", "at most ttft_ms");
  expect_error("[class.voice]\nwindow_ms = 250\nmax_queue_wait_ms = 200\n", "class.voice.window_ms",
               "max_queue_wait_ms");
  expect_error("[class.chat]\ncompletion_ms = 500\n", "class.chat.completion_ms", "at least ttft_ms");
  expect_error("[class.chat]\nreserved_seats = 64\n", "class.chat.reserved_seats",
               "less than scheduler.max_sequences, which is 64");
  expect_error("[class.chat]\nreserved_seats = 32\n[class.voice]\nreserved_seats = 32\n", "class.chat.reserved_seats",
               "come to 64 seats");
  expect_error("[class.chat]\nreserved_blocks = 0.5\n[class.voice]\nreserved_blocks = 0.5\n",
               "class.chat.reserved_blocks", "0.95 of the blocks");
  expect_error("[class.chat]\nreserved_step_time = 0.92\n", "class.background.min_share", "reserved step time");
  expect_error("[class.chat]\nmin_share = 0.1\n", "class.chat.min_share", "batch tier");
  expect_error("[class.chat]\nreserved_seats = 5\nmax_seats = 4\n", "class.chat.max_seats", "reserved_seats");
  expect_error("[class.chat]\nreserved_blocks = 0.5\nmax_blocks = 0.4\n", "class.chat.max_blocks", "reserved_blocks");
  expect_error("[class.chat]\nmax_seats = 0\n", "class.chat.max_seats", "1 to 4096");
  expect_error("[class.chat]\nmax_queue_wait_ms = 0\n", "class.chat.max_queue_wait_ms", "from 1");
  expect_error("[class.chat]\nweight = nan\n", "class.chat.weight", "0.01 to 100.0");
  expect_error("[class.chat]\nweight = 0\n", "class.chat.weight", "0.01 to 100.0");
  expect_error("[class.chat]\ntier = \"batch\"\n", "class.chat.tier", "cannot change");
  expect_error("[[class.chat.hours]]\nfrom = \"25:00\"\n", "class.chat.hours.1.from", "time of the day");
  expect_error("[[class.chat.hours]]\ndays = [\"someday\"]\n", "class.chat.hours.1.days", "there are mon");
  expect_error("[[class.chat.hours]]\nwindow_ms = 2000\n", "class.chat.hours.1.window_ms", "at most ttft_ms");
  expect_error("[[class.chat.hours]]\nreserved_seats = 64\n", "class.chat.reserved_seats", "64");
}

TEST(ClassTables, ThePrintedClassesAndRulesGiveTheSameConfiguration) {
  const auto loaded = load_toml(R"(
[class.night]
tier = "batch"
[[class.night.hours]]
from = "22:00"
weight = 5
[[class.background.hours]]
to = "06:00"
[[route]]
class = "night"
path = ["/v1/*"]
[[route]]
class = "chat"
)");
  ASSERT_TRUE(loaded) << loaded.error().message;
  const std::string printed = print_config((*loaded)->options);
  const auto again = load_toml(printed);
  ASSERT_TRUE(again) << again.error().message << "\n" << printed;
  EXPECT_TRUE(differences((*loaded)->options, (*again)->options).empty());
  EXPECT_EQ(print_config((*again)->options).find("weight = 3"), std::string::npos);
  EXPECT_NE(printed.find("[[class.night.hours]]"), std::string::npos);
  EXPECT_NE(printed.find("[[route]]\nclass = \"night\""), std::string::npos);
}

Settings change(const std::string& body) {
  auto settings = parse_change(body);
  EXPECT_TRUE(settings) << (settings ? "" : settings.error().message);
  return settings ? std::move(*settings) : Settings{};
}

TEST(Changes, AreJsonNestedOrDottedOrToml) {
  for (const char* body : {R"({"scheduler": {"step_target_ms": 30, "watermark": 0.2}})",
                           R"(  {"scheduler.step_target_ms": 30, "scheduler.watermark": 0.2})",
                           "scheduler.step_target_ms = 30\nscheduler.watermark = 0.2",
                           "[scheduler]\nstep_target_ms = 30\nwatermark = 0.2\n"}) {
    const auto loaded = load({{}, {}, change(body)});
    ASSERT_TRUE(loaded) << body << loaded.error().message;
    EXPECT_EQ((*loaded)->config.engine.sched.step_target, milliseconds(30));
    EXPECT_EQ((*loaded)->config.engine.sched.watermark, 0.2);
    EXPECT_EQ((*loaded)->options.find("scheduler.watermark")->origin, "admin");
  }
  const auto listed = load({{}, {}, change(R"({"route": [{"class": "index", "model": "tiny"}, {"class": "chat"}]})")});
  ASSERT_TRUE(listed) << listed.error().message;
  EXPECT_EQ((*listed)->config.route.rules.size(), 2U);
}

TEST(Changes, WhatIsNoneIsRefused) {
  for (const std::string& body :
       {std::string(), std::string("  \n"), std::string("{"), std::string("{}"), std::string("= 3"),
        std::string(1'100'000, 'x'), std::string("{\"a\":") + std::string(100, '[') + std::string(100, ']') + "}",
        std::string(R"({"a":{"b":{"c":{"d":{"e":{"f":{"g":{"h":{"i":{"j":{"k":1}}}}}}}}}}})")})
    EXPECT_FALSE(parse_change(body)) << body.substr(0, 40);
  for (const char* body :
       {R"({"scheduler.watermark": "much"})", R"({"scheduler.watermark": [1]})", R"({"scheduler.watermark": {}})",
        R"({"scheduler.watermark": 18446744073709551615})", R"({"scheduler.watermork": 0.1})", R"({"route": [1]})",
        R"({"route": 1})", R"({"class": {"chat": {"weight": -1}}})"}) {
    const auto settings = parse_change(body);
    EXPECT_FALSE(settings && load({{}, {}, *settings})) << body;
  }
}

TEST(Changes, WhatIsNeitherAnObjectNorTomlIsToldWhatIsExpected) {
  for (const char* body :
       {"[1, 2]", R"([{"key": "scheduler.watermark", "value": 0.1}])", "\"text\"", "17", "true", "null", "<config/>",
        "scheduler.watermark = = 0.1", "key: value", "scheduler.watermark=0.1&x=1"}) {
    const auto settings = parse_change(body);
    ASSERT_FALSE(settings) << body;
    const std::string& message = settings.error().message;
    EXPECT_NE(message.find("must be a JSON object"), std::string::npos) << message;
    EXPECT_NE(message.find("or TOML"), std::string::npos) << message;
    EXPECT_EQ(message.find("array") != std::string::npos, body[0] == '[') << message;
  }
}

TEST(Changes, ALaterOneReplacesAnEarlierOneAndNullTakesItBack) {
  Settings posted = with_change({}, change(R"({"scheduler": {"step_target_ms": 30, "watermark": 0.2}})"));
  posted = with_change(std::move(posted), change(R"({"scheduler.step_target_ms": 40})"));
  EXPECT_EQ(load({{}, {}, posted}).value()->config.engine.sched.step_target, milliseconds(40));
  posted = with_change(std::move(posted), change(R"({"scheduler.step_target_ms": null})"));
  EXPECT_EQ(load({{}, {}, posted}).value()->config.engine.sched.step_target, milliseconds(50));
  EXPECT_EQ(load({{}, {}, posted}).value()->config.engine.sched.watermark, 0.2);
  posted = with_change(std::move(posted), change(R"({"route": [{"class": "index"}, {"class": "chat"}]})"));
  posted = with_change(std::move(posted), change(R"({"route": [{"class": "voice"}]})"));
  EXPECT_EQ(load({{}, {}, posted}).value()->config.route.rules.size(), 1U);
  posted = with_change(std::move(posted), change(R"({"route": []})"));
  EXPECT_TRUE(load({{}, {}, posted}).value()->config.route.rules.empty());
}

TEST(Changes, AListThatIsPostedReplacesTheFilesList) {
  auto file = parse_toml("[[route]]\nclass = \"index\"\n[[route]]\nclass = \"chat\"\n", "takt.toml").value();
  EXPECT_EQ(load({file, {}, change(R"({"route": [{"class": "voice"}]})")}).value()->config.route.rules.size(), 1U);
  EXPECT_EQ(load({file, {}, {}}).value()->config.route.rules.size(), 2U);
}

TEST(Changes, APresetFillsWhatNobodyGave) {
  auto file = parse_toml("[scheduler]\nmax_sequences = 16\n", "takt.toml").value();
  const auto loaded = load({file, {}, change(R"({"scheduler.preset": "static"})")});
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ((*loaded)->config.engine.sched.join, JoinRule::kWhenEmpty);
  EXPECT_EQ((*loaded)->config.engine.sched.max_sequences, 16U);
}

TEST(Changes, DifferencesSayOldAndNewAndWhetherARestartIsNeeded) {
  const auto before = load({}).value();
  const auto after =
      load({{}, {}, change(R"({"scheduler.step_target_ms": 30, "http.port": 1, "auth.api_keys": ["sk-canary-1"],
                                              "class": {"night": {"tier": "batch"}}, "route": [{"class": "chat"}]})")})
          .value();
  std::map<std::string, OptionChange> changes;
  for (const OptionChange& change : differences(before->options, after->options)) changes.emplace(change.key, change);
  EXPECT_EQ(changes.size(), 5U);
  EXPECT_EQ(changes["scheduler.step_target_ms"].before, "50");
  EXPECT_EQ(changes["scheduler.step_target_ms"].after, "30");
  EXPECT_TRUE(changes["scheduler.step_target_ms"].run_time);
  EXPECT_FALSE(changes["http.port"].run_time);
  EXPECT_EQ(changes["auth.api_keys"].after, "1 set");
  EXPECT_EQ(changes["class.night.tier"].before, "");
  EXPECT_EQ(changes["route.1.class"].after, "\"chat\"");
  const std::string json = print_changes_json(differences(before->options, after->options), 4);
  EXPECT_EQ(json.find("canary"), std::string::npos);
  EXPECT_NE(json.find("\"generation\":4"), std::string::npos);
}

// What may change while the server runs is a property of each option.
TEST(Changes, TheSchedulerQueuesClassesRulesAndKeysCanChangeAtRunTime) {
  const auto loaded = load({}).value();
  for (const Option& option : loaded->options.options()) {
    const bool expected = option.key.starts_with("scheduler.") || option.key.starts_with("queue_") ||
                          option.key.starts_with("class.") || option.key == "auth.api_keys" ||
                          option.key == "auth.admin_keys" || option.key == "auth.api_key_file" ||
                          option.key == "kv.linger_ms" || option.key == "kv.pinned_share" ||
                          option.key == "server.log_level" || option.key == "server.drain_seconds" ||
                          option.key == "engine.stall_after_ms" || option.key == "engine.step_retries";
    EXPECT_EQ(option.run_time, expected) << option.key;
  }
}

}  // namespace
}  // namespace takt::config
