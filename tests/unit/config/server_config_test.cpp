#include "config/server_config.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <regex>
#include <sstream>

#include "config/config_sources.h"
#include "config/presets.h"
#include "config/settings.h"

namespace takt::config {
namespace {

using std::chrono::milliseconds;

Status apply_toml(const std::string& text, const std::string& name, OptionTable& options) {
  auto settings = parse_toml(text, name);
  return settings ? apply_settings(*settings, options) : Status(settings.error());
}

std::string error_of(const std::string& toml) {
  ServerConfig config;
  auto options = bind_options(config);
  const auto status = apply_toml(toml, "takt.toml", options);
  return status ? "" : status.error().message;
}

TEST(ServerConfig, AFileSetsEveryComponentsOwnOptions) {
  ServerConfig config;
  auto options = bind_options(config);
  const auto status = apply_toml(R"(
[server]
models = ["a.gguf", "fake:length=3"]
[http]
port = 9000
[scheduler]
step_target_ms = 30
planning_margin = 0
[text]
threads = 3
[kv]
prefix_cache = false
)",
                                 "takt.toml", options);
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(config.process.models, (std::vector<std::string>{"a.gguf", "fake:length=3"}));
  EXPECT_EQ(config.http.port, 9000);
  EXPECT_EQ(config.engine.sched.step_target, milliseconds(30));
  EXPECT_EQ(config.engine.sched.planning_margin, 0.0);
  EXPECT_EQ(config.serve.text_threads, 3);
  EXPECT_FALSE(config.engine.kv.prefix_cache);
  EXPECT_EQ(options.find("http.port")->origin, "takt.toml:5");
}

TEST(ServerConfig, UnknownKeysAndWrongTypesNameTheKeyAndTheLine) {
  EXPECT_EQ(error_of("[scheduler]\n\nstep_taget_ms = 3\n"),
            "takt.toml:3: scheduler.step_taget_ms: unknown option; the closest is scheduler.step_target_ms");
  EXPECT_EQ(error_of("[scheduler]\nstep_target_ms = \"fast\"\n"),
            "takt.toml:2: scheduler.step_target_ms: must be a whole number from 1 to 60000, not \"fast\"");
  EXPECT_EQ(error_of("[http]\nport = 70000\n"),
            "takt.toml:2: http.port: must be a whole number from 0 to 65535, not 70000");
  EXPECT_EQ(
      error_of("[server]\nmodels = [1]\n"),
      "takt.toml:2: server.models: must be a list of texts without control characters, not a list with a whole number "
      "in it");
  EXPECT_EQ(
      error_of("port = 1\n"),
      "takt.toml:1: port: stands outside a section such as [scheduler]; unknown option; the closest is http.port");
  EXPECT_EQ(error_of("[server]\nport = 9000\n"), "takt.toml:2: server.port: unknown option; the closest is http.port");
  EXPECT_EQ(error_of("[shed]\nstep_target_ms = 3\n"),
            "takt.toml:2: shed.step_target_ms: unknown option; the closest is scheduler.step_target_ms");
  EXPECT_EQ(error_of("[weather]\n"), "takt.toml:1: weather: unknown option");
  EXPECT_EQ(error_of("[scheduler]\n"), "");
  EXPECT_EQ(error_of("[scheduler]\nwatermark = nan\n").substr(0, 67),
            "takt.toml:2: scheduler.watermark: must be a number from 0.0 to 0.5,");
  EXPECT_EQ(error_of("[scheduler]\nwatermark = -inf\n").substr(0, 33), "takt.toml:2: scheduler.watermark:");
  EXPECT_EQ(error_of("[server]\ndrain_seconds = 1.5\n").substr(0, 34), "takt.toml:2: server.drain_seconds:");
  EXPECT_EQ(error_of("[server]\ndrain_seconds = inf\n").substr(0, 34), "takt.toml:2: server.drain_seconds:");
  EXPECT_EQ(error_of("[server]\nstep_log = \"a\\u0000b\"\n").substr(0, 29), "takt.toml:2: server.step_log:");
  EXPECT_EQ(error_of("[server]\nmodels = [\"a\\nb\"]\n").substr(0, 27), "takt.toml:2: server.models:");
  EXPECT_EQ(error_of("[scheduler.deep]\nx = 1\n").substr(0, 30), "takt.toml:2: scheduler.deep.x:");
}

TEST(ServerConfig, ABrokenFileIsAnErrorWithItsLine) {
  EXPECT_EQ(error_of("[http]\nport = = 3\n").substr(0, 12), "takt.toml:2:");
  EXPECT_FALSE(error_of("[http]\nport = 1\nport = 2\n").empty());
  EXPECT_FALSE(error_of(std::string(10000, '[')).empty());
  EXPECT_FALSE(error_of("\xff\xfe").empty());
}

// The library recurses into each part of a key: 50,000 of them ended the process.
TEST(ServerConfig, KeysOfVeryManyPartsAreRefused) {
  const auto chain = [](std::size_t parts) {
    std::string key = "a";
    for (std::size_t i = 1; i < parts; ++i) key += ".a";
    return key;
  };
  const std::string refused = "takt.toml:2: more than 64 dots in a line";
  EXPECT_EQ(error_of("\n" + chain(50'000) + " = 1\n"), refused);
  EXPECT_EQ(error_of("\n[" + chain(50'000) + "]\n"), refused);
  EXPECT_EQ(error_of("\nx = [{" + chain(50'000) + " = 1}]\n"), refused);
  std::string nested;
  for (int i = 0; i < 300; ++i) nested += "x = [{" + chain(60) + " = [\n{";
  EXPECT_FALSE(error_of(nested).empty());
  EXPECT_EQ(error_of("# " + std::string(100, '.') + "\n"), "");
}

TEST(ServerConfig, APipeIsNotWaitedFor) {
  const auto path = std::filesystem::temp_directory_path() / ("takt-config-pipe-" + std::to_string(::getpid()));
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const auto read = read_toml_file(path);
  std::filesystem::remove(path);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message, path.string() + ": is not a regular file");
}

TEST(ServerConfig, AFileThatCannotBeReadIsAnErrorThatNamesIt) {
  ServerConfig config;
  auto options = bind_options(config);
  const auto missing = read_toml_file("/nonexistent/takt.toml");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kIo);
  EXPECT_EQ(missing.error().message, "/nonexistent/takt.toml: No such file or directory");
  EXPECT_FALSE(read_toml_file("/"));
}

TEST(ServerConfig, ThePrintedConfigurationIsAFileThatGivesTheSameConfiguration) {
  ServerConfig config;
  auto options = bind_options(config);
  ASSERT_TRUE(options.set_text("scheduler.step_target_ms", "33", "flag"));
  ASSERT_TRUE(options.set_text("scheduler.newcomer_share", "0.3", "flag"));
  ASSERT_TRUE(options.set("server.models", Value(std::vector<std::string>{"a \"b\"\\c"}), "flag"));
  const std::string printed = print_config(options);
  EXPECT_NE(printed.find("step_target_ms = 33  # flag\n"), std::string::npos);
  EXPECT_NE(printed.find("port = 8080  # default\n"), std::string::npos);

  ServerConfig again;
  auto options_again = bind_options(again);
  const auto status = apply_toml(printed, "printed", options_again);
  ASSERT_TRUE(status) << status.error().message;
  for (const Option& option : options.options()) {
    if (option.secret) continue;
    EXPECT_EQ(option.get(), options_again.find(option.key)->get()) << option.key;
  }
}

TEST(ServerConfig, KeysAreNotPrinted) {
  ServerConfig config;
  auto options = bind_options(config);
  ASSERT_TRUE(options.set_text("auth.api_keys", "sk-canary", "flag"));
  const std::string printed = print_config(options);
  EXPECT_EQ(printed.find("canary"), std::string::npos);
  EXPECT_NE(printed.find("# api_keys: 1 set, not shown; flag\n"), std::string::npos);
}

TEST(ServerConfig, TheDefaultsContradictNothing) {
  const auto status = check(ServerConfig{});
  EXPECT_TRUE(status) << status.error().field << ": " << status.error().message;
}

// A19: start-up refuses limits that contradict each other, and says which.
TEST(ServerConfig, RefusesContradictoryLimitsWithTheReason) {
  const std::map<std::string, std::function<void(ServerConfig&)>> contradictions{
      {"scheduler.max_step_tokens",
       [](ServerConfig& c) { c.engine.sched.max_step_tokens = c.engine.sched.max_sequences; }},
      {"compute.max_step_tokens", [](ServerConfig& c) { c.compute.max_step_tokens = c.engine.sched.max_sequences; }},
      {"compute.max_context_tokens", [](ServerConfig& c) { c.compute.max_context_tokens = 1; }},
      {"compute.block_tokens", [](ServerConfig& c) { c.compute.block_tokens = 17; }},
      {"engine.stall_after_ms", [](ServerConfig& c) { c.engine.stall_after = c.engine.sched.max_step; }},
      {"queue_realtime.max_per_user",
       [](ServerConfig& c) {
         c.engine.realtime.max_per_tenant = 2;
         c.engine.realtime.max_per_user = 3;
       }},
      {"queue_batch.max_per_user",
       [](ServerConfig& c) {
         c.engine.batch.max_per_tenant = 2;
         c.engine.batch.max_per_user = 3;
       }},
      {"http.cors_allowed_origins",
       [](ServerConfig& c) {
         c.http.cors_allowed_origins = {"loopback", "everybody"};
       }},
      {"scheduler.max_step_ms",
       [](ServerConfig& c) { c.engine.sched.max_step = c.engine.sched.step_target - milliseconds(1); }},
      {"http.head_bytes", [](ServerConfig& c) { c.http.request.head_bytes = c.http.request.target_bytes - 1; }},
      {"http.connections_per_peer", [](ServerConfig& c) { c.http.connections_per_peer = c.http.connections + 1; }},
      {"text.max_queued_body_bytes",
       [](ServerConfig& c) { c.serve.max_queued_body_bytes = c.http.request.body_bytes - 1; }},
      {"stream.reader_behind_bytes",
       [](ServerConfig& c) { c.serve.reader_behind_bytes = c.http.stream_queue_bytes + 1; }},
      {"api.max_choices", [](ServerConfig& c) { c.serve.api.max_choices = c.serve.api.max_prompts - 1; }},
      {"compute.kv_blocks", [](ServerConfig& c) { c.compute.kv_bytes = c.compute.kv_blocks = 100; }},
  };
  for (const auto& [key, contradict] : contradictions) {
    ServerConfig config;
    contradict(config);
    const auto status = check(config);
    ASSERT_FALSE(status) << key;
    EXPECT_EQ(status.error().field, key);
    EXPECT_FALSE(status.error().message.empty());
  }
}

TEST(ServerConfig, RefusesAHostThatCanBeNone) {
  for (const std::string& host : {std::string(), std::string("two words"), std::string("tab\t"), std::string("::1\n"),
                                  std::string("caf\u00e9"), std::string(254, 'x')}) {
    ServerConfig config;
    config.auth.no_auth = true;
    config.http.host = host;
    const auto status = check(config);
    ASSERT_FALSE(status) << host;
    EXPECT_EQ(status.error().field, "http.host");
  }
}

// Every number has a range, with both of its ends inside and what lies beyond outside, in a file and as a text.
TEST(ServerConfig, EveryNumberHasARange) {
  ServerConfig config;
  auto options = bind_options(config);
  static const std::regex range(R"(a (?:whole )?number from (\S+) to (\S+))");
  int numbers = 0;
  for (const Option& option : std::deque<Option>(options.options())) {
    if (option.kind != OptionKind::kInteger && option.kind != OptionKind::kReal) continue;
    ++numbers;
    std::smatch ends;
    ASSERT_TRUE(std::regex_match(option.allowed, ends, range)) << option.key << ": " << option.allowed;
    EXPECT_TRUE(options.set_text(option.key, ends.str(1), "flag")) << option.key;
    EXPECT_TRUE(options.set_text(option.key, ends.str(2), "flag")) << option.key;
    const double low = std::stod(ends.str(1));
    const double high = std::stod(ends.str(2));
    for (const Value& wrong :
         {Value(low - 1), Value(high * 2 + 1), Value(std::nan("")), Value(std::numeric_limits<double>::infinity()),
          Value(-std::numeric_limits<double>::infinity()), Value(static_cast<std::int64_t>(low) - 1),
          Value(static_cast<std::int64_t>(high) + 1), Value(std::numeric_limits<std::int64_t>::max()),
          Value(std::numeric_limits<std::int64_t>::min()), Value(true), Value(std::string("1"))}) {
      const auto status = options.set(option.key, wrong, "file:1");
      ASSERT_FALSE(status) << option.key << " took " << to_toml(wrong);
      EXPECT_EQ(status.error().field, option.key);
      EXPECT_NE(status.error().message.find(option.allowed), std::string::npos) << status.error().message;
    }
    for (const char* wrong : {"", "-", "x", "1x", " 1", "nan", "inf", "-inf", "0x10", "99999999999999999999999"})
      EXPECT_FALSE(options.set_text(option.key, wrong, "flag")) << option.key << " took " << wrong;
  }
  EXPECT_GT(numbers, 50);
}

// F18: beyond loopback there is a key, or somebody said that there is none.
TEST(ServerConfig, RefusesToListenBeyondLoopbackWithoutAKeyUnlessToldSo) {
  for (const char* host : {"0.0.0.0", "::", "192.168.1.5", "example.org", "127.0.0.1.example.org"}) {
    ServerConfig config;
    config.http.host = host;
    EXPECT_FALSE(check(config)) << host;
    config.auth.no_auth = true;
    EXPECT_TRUE(check(config)) << host;
    config.auth = {};
    config.auth.api_keys = {"sk-1"};
    EXPECT_TRUE(check(config)) << host;
    config.auth.api_keys = {""};
    EXPECT_FALSE(check(config)) << "an empty key is none";
  }
  for (const char* host : {"127.0.0.1", "127.1.2.3", "::1", "localhost"}) {
    ServerConfig config;
    config.http.host = host;
    EXPECT_TRUE(check(config)) << host;
  }
}

// Options that exist once per class or rule stand there once.
std::string name_in_reference(const std::string& key) {
  static const std::regex hours(R"(class\.[^.]+\.hours\.1\.(from|to|days))");
  static const std::regex of_class(R"(class\.[^.]+\.(?:hours\.1\.)?([^.]+))");
  static const std::regex rule(R"(route\.1\.([^.]+))");
  std::smatch match;
  if (std::regex_match(key, match, hours)) return "class.NAME.hours." + match.str(1);
  if (std::regex_match(key, match, of_class)) return "class.NAME." + match.str(1);
  if (std::regex_match(key, match, rule)) return "route." + match.str(1);
  return key;
}

// A8: the reference has every option, in a row with its default.
TEST(ServerConfig, EveryOptionIsInTheReferenceWithItsDefault) {
  std::ifstream file(std::string(TAKT_SOURCE_DIR) + "/docs/configuration.md");
  ASSERT_TRUE(file) << "docs/configuration.md";
  std::map<std::string, std::string> defaults;
  static const std::regex row(
      R"(\| `([a-zA-Z_]+(?:\.[a-zA-Z_]+)+)` \| [^|]* \| (?:`([^`]*)`|by class) \| [^|]+ \| [^|]+ \|)");
  for (std::string line; std::getline(file, line);) {
    std::smatch match;
    if (std::regex_match(line, match, row)) defaults[match[1]] = match[2];
  }
  ServerConfig config;
  auto options = bind_options(config);
  ASSERT_TRUE(options.begin_list("route"));
  ASSERT_TRUE(options.set_text("route.1.class", "", "default"));
  ASSERT_TRUE(options.set_text("class.chat.hours.1.from", "00:00", "default"));
  std::map<std::string, std::string> described;
  for (const Option& option : options.options()) {
    const std::string key = name_in_reference(option.key);
    const auto found = defaults.find(key);
    if (found == defaults.end()) {
      ADD_FAILURE() << key << " is not described";
      continue;
    }
    described[key] = found->second;
    if (!found->second.empty()) {
      EXPECT_EQ(found->second, to_toml(option.get())) << option.key;
    }
  }
  for (const auto& [key, value] : defaults)
    EXPECT_TRUE(described.contains(key)) << key << " is described and does not exist";
}

TEST(Presets, EachIsWholeAndPassesTheCrossChecks) {
  for (const std::string& name : preset_names()) {
    ServerConfig config;
    OptionTable options = bind_options(config);
    const Status applied = apply_preset(name, options);
    EXPECT_TRUE(applied.ok()) << applied.error().message;
    const Status sound = check(config);
    EXPECT_TRUE(sound.ok()) << name << ": " << sound.error().message;
  }
}

TEST(Presets, AnOptionThatWasGivenWins) {
  ServerConfig config;
  OptionTable options = bind_options(config);
  ASSERT_TRUE(options.set_text("scheduler.max_sequences", "16", "flag").ok());
  ASSERT_TRUE(apply_preset("static", options).ok());
  EXPECT_EQ(config.engine.sched.max_sequences, 16U);
  EXPECT_EQ(config.engine.sched.join, JoinRule::kWhenEmpty);
  EXPECT_TRUE(config.engine.sched.padding);
  EXPECT_EQ(options.find("scheduler.join")->origin, "preset static");
}

TEST(Presets, EachStandsInTheSchedulingPage) {
  std::ifstream file(std::string(TAKT_SOURCE_DIR) + "/docs/scheduling.md");
  std::ostringstream text;
  text << file.rdbuf();
  const std::string page = text.str();
  for (const std::string& name : preset_names()) EXPECT_NE(page.find("| `" + name + "` |"), std::string::npos) << name;
}

TEST(ServerConfig, ContradictorySchedulerRulesAreRefusedWithTheirReason) {
  const std::vector<std::pair<const char*, const char*>> contradictions[] = {
      {{"scheduler.padding", "true"}},
      {{"scheduler.padding", "true"}, {"scheduler.join", "when_empty"}},
      {{"scheduler.leave", "with_batch"}},
      {{"scheduler.preemption", "none"}},
      {{"scheduler.window_min_batch", "2"}},
      {{"scheduler.window_min_batch", "65"}, {"scheduler.window_max_wait_ms", "5"}},
  };
  for (const auto& settings : contradictions) {
    ServerConfig config;
    OptionTable options = bind_options(config);
    for (const auto& [key, value] : settings) ASSERT_TRUE(options.set_text(key, value, "flag").ok());
    const Status refused = check(config);
    ASSERT_FALSE(refused.ok()) << settings.front().first;
    EXPECT_EQ(refused.error().field.substr(0, 10), "scheduler.");
  }
}

}  // namespace
}  // namespace takt::config
