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
max_waiting = 7
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

// The same fault in a file and in a posted change.
struct Fault {
  const char* toml;
  const char* json;  // empty: JSON has no such thing
  const char* field;
  const char* said;
};

Result<std::unique_ptr<LoadedConfig>> load_posted(const std::string& body) {
  auto settings = parse_change(body);
  if (!settings) return settings.error();
  const LoadedConfig defaults;
  if (Status sound = check_change(*settings, defaults.options); !sound) return sound.error();
  return load({{}, {}, std::move(*settings)});
}

void expect_fault(const Fault& fault) {
  SCOPED_TRACE(std::string(fault.toml) + " " + fault.json);
  for (const bool posted : {false, true}) {
    const std::string text = posted ? fault.json : fault.toml;
    if (text.empty()) continue;
    const auto loaded = posted ? load_posted(text) : load_toml(text);
    ASSERT_FALSE(loaded) << text;
    EXPECT_EQ(loaded.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(loaded.error().field, fault.field) << loaded.error().message;
    EXPECT_NE(loaded.error().message.find(fault.said), std::string::npos) << loaded.error().message;
  }
}

TEST(Faults, ATableThatSaysNothingIsRefusedByName) {
  for (const Fault& fault : {
           Fault{"[[route]]\n", R"({"route": [{}]})", "route.1.class", "must name the class"},
           {"[[route]]\nclass = \"chat\"\n[[route]]\n", R"({"route": [{"class": "chat"}, {}]})", "route.2.class",
            "must name the class"},
           {"[[route]]\n[[route]]\nclass = \"chat\"\n", R"({"route": [{}, {"class": "chat"}]})", "route.1.class",
            "must name the class"},
           {"[[route]]\nmodel = \"tiny\"\n", R"({"route": [{"model": "tiny"}]})", "route.1.class",
            "must name the class"},
           {"[[class.chat.hours]]\n", R"({"class": {"chat": {"hours": [{}]}}})", "class.chat.hours.1",
            "names no setting"},
           {"[[class.chat.hours]]\nfrom = \"22:00\"\n", R"({"class.chat.hours": [{"from": "22:00"}]})",
            "class.chat.hours.1", "names no setting"},
           {"[class.night]\n", R"({"class": {"night": {}}})", "class.night", "with options in it, not an empty table"},
           {"[shed]\n", R"({"shed": {}, "scheduler.watermark": 0.1})", "shed", "unknown option"},
       })
    expect_fault(fault);
  for (const char* body : {R"({"scheduler": {}})", R"({"scheduler": {}, "class": {"chat": {}}})", "[scheduler]\n"}) {
    const auto loaded = load_posted(body);
    ASSERT_FALSE(loaded) << body;
    EXPECT_EQ(loaded.error().message, "The change names no option");
  }
  EXPECT_TRUE(load_toml("[scheduler]\n")) << "a file may have empty sections";
}

TEST(Faults, AWrongTypeIsToldWithTheOneThatIsExpected) {
  for (const Fault& fault : {
           Fault{"scheduler = []\n", R"({"scheduler": []})", "scheduler",
                 "must be a section with options in it, not an empty list"},
           {"scheduler = 5\n", R"({"scheduler": 5})", "scheduler", "not a whole number"},
           {"scheduler = [\"a\"]\n", R"({"scheduler": ["a"]})", "scheduler", "not a list of texts"},
           {"[[scheduler]]\n", R"({"scheduler": [{}]})", "scheduler",
            "must be a section with options in it, not a list of tables"},
           {"[class]\nchat = true\n", R"({"class": {"chat": true}})", "class.chat", "not true or false"},
           {"[class]\nnight = 1.5\n", R"({"class.night": 1.5})", "class.night",
            "must be a section with options in it, not a number"},
           {"class = \"chat\"\n", R"({"class": "chat"})", "class", "not a text"},
           {"route = [[]]\n", R"({"route": [[]]})", "route", "must be a list of tables, not a list with a list in it"},
           {"route = 1\n", R"({"route": 1})", "route", "must be a list of tables, not a whole number"},
           {"route = [1]\n", R"({"route": [1]})", "route", "not a list with a whole number in it"},
           {"route = [\"chat\"]\n", R"({"route": ["chat"]})", "route", "not a list of texts"},
           {"[route]\nclass = \"chat\"\n", R"({"route": {"class": "chat"}})", "route",
            "must be a list of tables, not a table"},
           {"[route]\n", R"({"route": {}})", "route", "must be a list of tables, not an empty table"},
           {"[route]\n1 = 5\n", R"({"route": {"1": 5}})", "route.1", "must be a table, not a whole number"},
           {"", R"({"route": [{"class": "chat"}, 5]})", "route.2", "must be a table, not a whole number"},
           {"[class.chat.hours]\nweight = 2\n", R"({"class": {"chat": {"hours": {"weight": 2}}}})", "class.chat.hours",
            "must be a list of tables, not a table"},
           {"[scheduler.watermark]\nx = 1\n", R"({"scheduler": {"watermark": {"x": 1}}})", "scheduler.watermark",
            "must be a number from 0.0 to 0.5, not a table"},
           {"[scheduler.watermark]\n", R"({"scheduler": {"watermark": {}}})", "scheduler.watermark",
            "must be a number from 0.0 to 0.5, not an empty table"},
           {"[[scheduler.watermark]]\n", R"({"scheduler": {"watermark": [{}]}})", "scheduler.watermark",
            "not a list of tables"},
           {"[scheduler]\nwatermark = 2024-01-02\n", "", "scheduler.watermark", "not a date"},
           {"[scheduler]\nwatermark = [0.1]\n", R"({"scheduler.watermark": [0.1]})", "scheduler.watermark",
            "must be a number from 0.0 to 0.5, not a list with a number in it"},
           {"", R"({"scheduler.watermark": 18446744073709551615})", "scheduler.watermark", "beyond 64 bits"},
           {"[server]\nmodels = \"a\"\n", R"({"server.models": "a"})", "server.models", "must be a list of texts"},
           {"[server]\nmodels = [[]]\n", R"({"server.models": [null]})", "server.models", "not a list with "},
       })
    expect_fault(fault);
}

// A secret that stands at the wrong place is not shown.
TEST(Faults, AWrongTypeIsToldWithoutTheValue) {
  for (const char* body :
       {R"({"auth": "sk-canary-1"})", R"({"auth": {"api_keys": "sk-canary-1"}})",
        R"({"auth": {"api_keys": {"sk-canary-1": 1}}})", R"({"auth.api_keys": [["sk-canary-1"]]})"}) {
    const auto loaded = load_posted(body);
    ASSERT_FALSE(loaded) << body;
    EXPECT_EQ(loaded.error().message.find("canary"), std::string::npos) << loaded.error().message;
  }
}

TEST(Faults, AKeyThatStandsTwiceIsRefused) {
  for (const Fault& fault : {
           Fault{"[scheduler]\nwatermark = 0.1\n[\"scheduler.watermark\"]\n",
                 R"({"scheduler.watermark": 0.1, "scheduler.watermark": 0.2})", "scheduler.watermark", "twice"},
           {"\"scheduler.watermark\" = 0.1\n[scheduler]\nwatermark = 0.1\n",
            R"({"scheduler.watermark": 0.1, "scheduler": {"watermark": 0.1}})", "scheduler.watermark", "twice"},
           {"", R"({"scheduler": {"watermark": 0.1}, "scheduler": {"join": "every_step"}})", "scheduler", "twice"},
           {"", R"({"scheduler": {"watermark": 0.1, "watermark": null}})", "scheduler.watermark", "twice"},
           {"", R"({"route": [{"class": "chat"}, {"class": "chat", "class": "voice"}]})", "route.2.class", "twice"},
           {"", R"({"class": {"chat": {"weight": 1, "weight": 1}}})", "class.chat.weight", "twice"},
           {"\"route.1.class\" = \"chat\"\n[[route]]\nclass = \"voice\"\n",
            R"({"route": [{"class": "chat"}], "route.1.class": "voice"})", "route.1.class", ""},
           {"", R"({"route": [{"class": "chat"}], "route.1.model": "tiny"})", "route.1.model", "beside the whole list"},
           {"", R"({"route.1.model": "tiny", "route": [{"class": "chat"}]})", "route", "beside entries of it"},
           {"", R"({"route": [], "route.1.class": "chat"})", "route.1.class", "beside the whole list"},
           {"", R"({"route.1.class": "chat", "route": []})", "route", "beside entries of it"},
           {"", R"({"route": null, "route": []})", "route", "twice"},
       })
    expect_fault(fault);
  for (const char* body : {R"({"class": {"night": {"tier": "batch"}}, "class.late.tier": "batch"})",
                           R"({"route": [{"class": "chat"}, {"class": "chat"}], "class.chat.hours": [{"weight": 2}]})",
                           R"({"class": null, "class.chat.weight": 2})"})
    EXPECT_TRUE(load_posted(body)) << body;
}

TEST(Faults, WhatIsTakenBackMustBeThere) {
  const auto in_force = load({{}, {}, parse_change(R"({"class.night.tier": "batch"})").value()}).value();
  const auto error_of_forgetting = [&](const std::string& body) {
    const Status known = check_change(parse_change(body).value(), in_force->options);
    return known ? std::string() : known.error().field + ": " + known.error().message;
  };
  for (const char* body : {R"({"scheduler.watermark": null})", R"({"scheduler": null})", R"({"route": null})",
                           R"({"class": null})", R"({"class": {"night": null}})"})
    EXPECT_EQ(error_of_forgetting(body), "") << body;
  EXPECT_EQ(error_of_forgetting(R"({"scheduler": {"watermork": null}})"),
            "scheduler.watermork: unknown option; the closest is scheduler.watermark");
  EXPECT_NE(error_of_forgetting(R"({"class": {"nigth": null}})"), "");
}

// Big documents of one kind must not take long to judge.
TEST(Faults, VeryManyKeysAreJudgedQuickly) {
  std::string lists = "{";
  for (int i = 0; i < 60'000; ++i) lists += "\"a" + std::to_string(i) + "\":[{}],";
  EXPECT_FALSE(load_posted(lists + "\"b\":1}"));
  EXPECT_FALSE(load_posted("{\"" + std::string(1'000'000, '.') + "\":1}"));
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
