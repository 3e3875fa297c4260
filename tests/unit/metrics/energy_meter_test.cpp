#include "metrics/energy_meter.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "metrics/idle_energy.h"

namespace takt::metrics {
namespace {

namespace fs = std::filesystem;

class EnergyMeterTest : public ::testing::Test {
 protected:
  EnergyMeterTest() : root_(fs::temp_directory_path() / ("takt-energy-" + std::to_string(getpid()))) {}
  ~EnergyMeterTest() override { fs::remove_all(root_); }

  void write(const std::string& zone, const std::string& file, const std::string& text) {
    const fs::path folder = root_ / "sys/class/powercap" / zone;
    fs::create_directories(folder);
    std::ofstream(folder / file) << text << "\n";
  }
  void zone(const std::string& folder, const std::string& name, std::uint64_t microjoules) {
    write(folder, "name", name);
    write(folder, "max_energy_range_uj", "1000000000");
    write(folder, "energy_uj", std::to_string(microjoules));
  }
  std::string root() const { return root_.string(); }

 private:
  fs::path root_;
};

TEST_F(EnergyMeterTest, CountsPackagesAndMemoryFromTheStartOn) {
  zone("intel-rapl:0", "package-0", 5'000'000);
  zone("intel-rapl:0:0", "core", 1'000'000);
  zone("intel-rapl:0:1", "dram", 7'000'000);
  zone("dtpm", "dtpm", 1);
  EnergyMeter meter(root());
  zone("intel-rapl:0", "package-0", 9'000'000);
  zone("intel-rapl:0:1", "dram", 7'500'000);
  const auto readings = meter.read();
  ASSERT_EQ(readings.size(), 2U);
  EXPECT_EQ(readings[0].zone, "dram-0:1");
  EXPECT_DOUBLE_EQ(readings[0].joules, 0.5);
  EXPECT_EQ(readings[1].zone, "package-0");
  EXPECT_DOUBLE_EQ(readings[1].joules, 4.0);
}

TEST_F(EnergyMeterTest, FollowsACounterThatStartsAgain) {
  zone("intel-rapl:0", "package-0", 999'000'000);
  EnergyMeter meter(root());
  zone("intel-rapl:0", "package-0", 3'000'000);
  EXPECT_DOUBLE_EQ(meter.read().at(0).joules, 4.0);
  zone("intel-rapl:0", "package-0", 5'000'000);
  EXPECT_DOUBLE_EQ(meter.read().at(0).joules, 6.0);
}

TEST_F(EnergyMeterTest, IsEmptyWhereTheMachineDoesNotTell) {
  EXPECT_TRUE(EnergyMeter(root()).empty());
  write("intel-rapl:0", "name", "package-0");
  EXPECT_TRUE(EnergyMeter(root()).empty()) << "a zone without a counter";
}

TEST_F(EnergyMeterTest, KeepsWhatItCountedWhenTheCounterGoesAway) {
  zone("intel-rapl:0", "package-0", 0);
  EnergyMeter meter(root());
  zone("intel-rapl:0", "package-0", 2'000'000);
  EXPECT_DOUBLE_EQ(meter.read().at(0).joules, 2.0);
  fs::remove_all(root());
  EXPECT_DOUBLE_EQ(meter.read().at(0).joules, 2.0);
}

TEST(IdleEnergy, IsWhatWasUsedBetweenReadingsWithoutAnythingToDo) {
  using std::chrono::milliseconds;
  IdleEnergy idle;
  idle.note({{"package-0", 100.0}, {"dram-0", 10.0}}, milliseconds(0), 0);
  EXPECT_EQ(idle.joules()[0].joules, 0.0);
  idle.note({{"package-0", 130.0}, {"dram-0", 12.0}}, milliseconds(0), 0);
  EXPECT_EQ(idle.joules()[0].joules, 30.0);
  EXPECT_EQ(idle.joules()[1].joules, 2.0);
  idle.note({{"package-0", 180.0}, {"dram-0", 13.0}}, milliseconds(40), 0);  // a step ran between
  idle.note({{"package-0", 200.0}, {"dram-0", 14.0}}, milliseconds(40), 1);  // somebody is there
  idle.note({{"package-0", 220.0}, {"dram-0", 15.0}}, milliseconds(40), 0);
  EXPECT_EQ(idle.joules()[0].joules, 30.0);
  idle.note({{"package-0", 225.0}, {"dram-0", 16.0}}, milliseconds(40), 0);
  EXPECT_EQ(idle.joules()[0].joules, 35.0);
  EXPECT_EQ(idle.joules()[1].joules, 3.0);
}

}  // namespace
}  // namespace takt::metrics
