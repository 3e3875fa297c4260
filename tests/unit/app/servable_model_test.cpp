#include "servable_model.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/cpu_topology.h"

namespace takt::app {
namespace {

ModelSource scripted() {
  return {"fake", {}, parse_fake_script("blocks=256").value()};
}

// B20: the KV pools of all models count, not the model's own alone.
TEST(ServableModel, AnArenaLeavesRoomForThePoolsOfModelsLoadedBefore) {
  config::ServerConfig config;
  config.engine.swap.bytes = std::size_t{8} << 20;
  config.engine.swap.staging_bytes = std::size_t{1} << 20;
  SteadyClock clock;
  const auto alone = load_servable_model(scripted(), {config, 1, clock, 0}, {});
  ASSERT_TRUE(alone.ok()) << alone.error().message;
  EXPECT_GT(kv_pool_bytes(*alone), 0U);
  const auto beside = load_servable_model(scripted(), {config, 1, clock, available_memory_bytes()}, {});
  ASSERT_FALSE(beside.ok());
  EXPECT_EQ(beside.error().field, "kv.swap_bytes");
}

TEST(ServableModel, TheStartSaysWhatTheArenaReallyIs) {
  config::ServerConfig config;
  config.engine.swap.bytes = std::size_t{1} << 20;
  config.engine.swap.staging_bytes = std::size_t{64} << 20;
  SteadyClock clock;
  const auto model = load_servable_model(scripted(), {config, 1, clock, 0}, {});
  ASSERT_TRUE(model.ok()) << model.error().message;
  const auto note = std::find_if(model->notes.begin(), model->notes.end(),
                                 [](const std::string& line) { return line.starts_with("swap arena: "); });
  ASSERT_NE(note, model->notes.end());
  EXPECT_NE(note->find("swap arena: 1.0 MB, memory, 256 pages of"), std::string::npos) << *note;
  EXPECT_NE(note->find("all that it needs of kv.swap_staging_bytes"), std::string::npos) << *note;
}

}  // namespace
}  // namespace takt::app
