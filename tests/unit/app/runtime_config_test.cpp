// The configuration of a running server, with a server and a wall clock of the test's own.
#include "runtime_config.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "open_files.h"
#include "route/class_hours.h"
#include "route/local_time.h"

namespace takt::app {
namespace {

using std::chrono::milliseconds;

class RecordingServer final : public Configurable {
 public:
  Status reconfigure(const config::ServerConfig& config, std::int64_t unix_seconds) override {
    if (!refusal.message.empty()) return refusal;
    ++changes;
    sched = config.engine.sched;
    keys = config.route.keys.size();
    background_weight = 0;
    for (const auto& service_class : config.route.classes) {
      if (service_class.name == "background")
        background_weight = route::in_force(service_class, route::local_time(unix_seconds)).limits.weight;
    }
    return {};
  }
  Error refusal{};
  int changes = 0;
  SchedulerOptions sched;
  std::size_t keys = 0;
  double background_weight = 0;
};

class RuntimeConfigTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("takt-runtime-config-" + std::to_string(std::hash<std::thread::id>{}(std::this_thread::get_id())) +
               std::to_string(reinterpret_cast<std::uintptr_t>(this)));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  std::unique_ptr<RuntimeConfig> read(const std::string& toml, config::Settings flags = {}) {
    auto config = RuntimeConfig::read(write("takt.toml", toml), std::move(flags), [this] { return now_; });
    EXPECT_TRUE(config) << (config ? "" : config.error().message);
    if (!config) return nullptr;
    (*config)->attach(server_);
    return std::move(*config);
  }

  std::filesystem::path folder_;
  RecordingServer server_;
  std::int64_t now_ = 1700000000;
};

TEST_F(RuntimeConfigTest, APostedChangeHoldsAndSaysWhatChanged) {
  const auto config = read("[scheduler]\nstep_target_ms = 40\n");
  const auto answer = config->change(R"({"scheduler": {"step_target_ms": 30, "watermark": 0.01}})");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(*answer, R"({"generation":2,"changed":{"scheduler.step_target_ms":{"before":"40","after":"30"}}})");
  EXPECT_EQ(server_.sched.step_target, milliseconds(30));
  EXPECT_NE(config->effective().find(R"("scheduler.step_target_ms":{"value":30,"origin":"admin","run_time":true})"),
            std::string::npos)
      << config->effective();
  EXPECT_EQ(config->state().generation, 2U);
}

TEST_F(RuntimeConfigTest, AChangeThatContradictsAnotherChangesNothingAtAll) {
  const auto config = read("");
  const std::string before = config->effective();
  for (const char* body : {R"({"scheduler": {"watermark": 0.2, "step_target_ms": 300}})",
                           R"({"scheduler": {"watermark": 0.2, "leave": "with_batch"}})",
                           R"({"scheduler": {"watermark": 0.2, "nothing": 1}})", "{", ""}) {
    EXPECT_FALSE(config->change(body)) << body;
  }
  EXPECT_EQ(server_.changes, 0);
  EXPECT_EQ(config->effective(), before);
}

// What metrics tell of it: which configuration this is, and what became of the last change.
TEST_F(RuntimeConfigTest, TheStateSaysWhetherTheLastChangeWasApplied) {
  const auto config = read("");
  EXPECT_EQ(config->state().generation, 1U);
  EXPECT_TRUE(config->state().last_change_applied);
  EXPECT_EQ(config->state().last_change_unix, 1700000000);
  now_ += 60;
  EXPECT_FALSE(config->change(R"({"http.port": 9000})"));
  EXPECT_EQ(config->state().generation, 1U);
  EXPECT_FALSE(config->state().last_change_applied);
  EXPECT_EQ(config->state().last_change_unix, 1700000060);
  now_ += 60;
  EXPECT_TRUE(config->change(R"({"scheduler.watermark": 0.2})"));
  EXPECT_EQ(config->state().generation, 2U);
  EXPECT_TRUE(config->state().last_change_applied);
  EXPECT_EQ(config->state().last_change_unix, 1700000120);
}

TEST_F(RuntimeConfigTest, WhatThePrefixCacheKeepsMayChangeAndWhetherThereIsOneNeedsARestart) {
  const auto config = read("");
  const auto answer = config->change(R"({"kv": {"linger_ms": 1000, "pinned_share": 0.4}})");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(config->config().engine.kv.linger, milliseconds(1000));
  const auto refused = config->change(R"({"kv.prefix_cache": false})");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().field, "kv.prefix_cache");
  EXPECT_NE(refused.error().message.find("restart"), std::string::npos);
}

// Each connection is an open file: what was asked for and does not fit is refused, the default is lowered.
TEST_F(RuntimeConfigTest, ConnectionsFitTheLimitOfOpenFiles) {
  config::LoadedConfig usual;
  ASSERT_TRUE(fit_connections(usual, 1024));
  EXPECT_EQ(usual.config.http.connections, 1024 - kFilesBesideConnections);
  EXPECT_EQ(usual.config.http.connections_per_peer, 1024 - kFilesBesideConnections);
  config::LoadedConfig roomy;
  ASSERT_TRUE(fit_connections(roomy, 100'000));
  EXPECT_EQ(roomy.config.http.connections, 4096U);
  config::LoadedConfig asked;
  ASSERT_TRUE(asked.options.set_text("http.connections", "2000", "flag"));
  const Status refused = fit_connections(asked, 1024);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().field, "http.connections");
  EXPECT_NE(refused.error().message.find("1024"), std::string::npos) << refused.error().message;
}

TEST_F(RuntimeConfigTest, WhatNeedsARestartIsRefusedByName) {
  const auto config = read("");
  const auto answer = config->change(R"({"scheduler.watermark": 0.2, "http.port": 9000})");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(answer.error().field, "http.port");
  EXPECT_NE(answer.error().message.find("restart"), std::string::npos);
  EXPECT_EQ(server_.changes, 0);
}

// All models or none: the server says no, and the old values hold.
TEST_F(RuntimeConfigTest, WhatTheServerRefusesIsForgotten) {
  const auto config = read("");
  server_.refusal = Error{ErrorCode::kUnsupported, "at most 64", "scheduler.max_sequences"};
  EXPECT_EQ(config->change(R"({"scheduler.max_sequences": 100})").error().field, "scheduler.max_sequences");
  server_.refusal = {};
  EXPECT_TRUE(config->change(R"({"scheduler.watermark": 0.2})"));
  EXPECT_EQ(server_.sched.max_sequences, 64U);
}

TEST_F(RuntimeConfigTest, AReloadGivesWhatARestartWouldGive) {
  const auto config = read("[scheduler]\nstep_target_ms = 40\n",
                           {{"scheduler.watermark", config::Setting::Kind::kText, std::string("0.3"), "flag"}});
  ASSERT_TRUE(config->change(R"({"scheduler.newcomer_share": 0.5, "scheduler.watermark": 0.1})"));
  write("takt.toml", "[scheduler]\nstep_target_ms = 45\n");
  config->reload();
  EXPECT_EQ(server_.sched.step_target, milliseconds(45));
  EXPECT_EQ(server_.sched.newcomer_share, 0.75) << "what was posted is gone";
  EXPECT_EQ(server_.sched.watermark, 0.3) << "flags are as at the start";
}

TEST_F(RuntimeConfigTest, AFileThatIsWrongChangesNothing) {
  const auto config = read("[scheduler]\nstep_target_ms = 40\n");
  const std::string before = config->effective();
  for (const char* text :
       {"[scheduler]\nstep_target_ms = 0\n", "[sched", "[http]\nport = 1\n", "[class.chat]\nwindow_ms = 5000\n"}) {
    write("takt.toml", text);
    config->reload();
    EXPECT_EQ(config->effective(), before) << text;
  }
  std::filesystem::remove(folder_ / "takt.toml");
  config->reload();
  EXPECT_EQ(config->effective(), before);
  EXPECT_EQ(server_.changes, 0);
}

// H9
TEST_F(RuntimeConfigTest, KeysAreReadAgainAndAFileThatIsWrongLeavesThemAlone) {
  const std::string keys = write("keys", "sk-alpha-1\n");
  const auto config = read("[auth]\napi_key_file = \"" + keys + "\"\n");
  EXPECT_EQ(config->config().route.keys.size(), 1U);
  write("keys", "sk-alpha-1\nsk-beta-22 weight=2\n");
  config->reload();
  EXPECT_EQ(server_.keys, 2U);
  write("keys", "sk-alpha-1\nsk-beta-22 weight=none\nsk-gamma-3\n");
  config->reload();
  EXPECT_EQ(server_.keys, 2U);
}

// A pipe that nobody writes to would stop everything that the serving thread watches over.
TEST_F(RuntimeConfigTest, AKeyFileThatIsAPipeIsNotWaitedFor) {
  const std::string keys = write("keys", "sk-alpha-1\n");
  const auto config = read("[auth]\napi_key_file = \"" + keys + "\"\n");
  std::filesystem::remove(keys);
  ASSERT_EQ(::mkfifo(keys.c_str(), 0600), 0);
  config->reload();
  EXPECT_FALSE(config->state().last_change_applied);
  EXPECT_EQ(config->config().route.keys.size(), 1U);
  const auto at_start = RuntimeConfig::read(folder_ / "takt.toml", {}, [this] { return now_; });
  ASSERT_FALSE(at_start);
  EXPECT_EQ(at_start.error().field, "auth.api_key_file");
  EXPECT_EQ(at_start.error().message, "The key file " + keys + ": is not a regular file");
}

// At the hour that a class names the server is told, and again when it is over; nothing happens between.
TEST_F(RuntimeConfigTest, HoursOfAClassComeAndGoByTheWallClock) {
  // Whatever the zone, the clock on the wall says the same at the same minute.
  const auto clock_time = [](std::int64_t at) {
    const int minute = route::local_time(at).minute;
    char text[8];
    std::snprintf(text, sizeof text, "%02d:%02d", minute / 60 % 24, minute % 60);
    return std::string(text);
  };
  const auto config = read("[[class.background.hours]]\nfrom = \"" + clock_time(now_ + 3600) + "\"\nto = \"" +
                           clock_time(now_ + 7200) + "\"\nweight = 7\n");
  const auto look_until = [&](std::int64_t end) {
    for (; now_ < end; now_ += 30) config->look_at_clock();
  };
  const std::int64_t begin = now_;
  look_until(begin + 3500);
  EXPECT_EQ(server_.changes, 0);
  look_until(begin + 3700);
  EXPECT_EQ(server_.changes, 1);
  EXPECT_EQ(server_.background_weight, 7.0);
  look_until(begin + 7100);
  EXPECT_EQ(server_.changes, 1);
  look_until(begin + 7300);
  EXPECT_EQ(server_.changes, 2);
  EXPECT_EQ(server_.background_weight, 1.0);
  now_ = begin + 3700;
  config->look_at_clock();
  EXPECT_EQ(server_.background_weight, 7.0) << "a clock that jumps is followed";
}

TEST_F(RuntimeConfigTest, ChangesFromSeveralThreadsAreOneAfterTheOther) {
  const auto config = read("");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&config, t] {
      for (int i = 0; i < 25; ++i) {
        (void)config->change("{\"scheduler.step_target_ms\": " + std::to_string(10 + (t * 25 + i) % 90) + "}");
        (void)config->effective();
        config->look_at_clock();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(config->state().generation, 101U);
  EXPECT_EQ(server_.changes, 100);
}

}  // namespace
}  // namespace takt::app
