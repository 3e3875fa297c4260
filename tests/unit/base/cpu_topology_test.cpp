// E5: the number of compute threads follows the cores, the affinity mask and the quota of the cgroup, rounded down.
#include "base/cpu_topology.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>

namespace takt {
namespace {

namespace fs = std::filesystem;

// A tree of /proc and /sys that says what a test puts there.
class System {
 public:
  System() : root_(fs::temp_directory_path() / ("takt-system-" + std::to_string(::getpid()))) {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  ~System() { fs::remove_all(root_); }
  System(const System&) = delete;
  System& operator=(const System&) = delete;

  System& put(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
    return *this;
  }
  // CPUs that are `siblings` hardware threads to a core.
  System& cores(int cpus, int siblings) {
    for (int cpu = 0; cpu < cpus; ++cpu) {
      const std::string topology = "sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
      put(topology + "core_id", std::to_string(cpu / siblings) + "\n").put(topology + "physical_package_id", "0\n");
    }
    return *this;
  }
  CpuBudget budget(int cpus) const {
    std::vector<int> allowed;
    for (int cpu = 0; cpu < cpus; ++cpu) allowed.push_back(cpu);
    return cpu_budget(allowed, root_.string());
  }
  std::size_t memory() const { return available_memory_bytes(root_.string()); }

 private:
  const fs::path root_;
};

TEST(CpuBudget, CountsPhysicalCoresAmongTheAllowedCpus) {
  const auto budget = System().cores(64, 2).budget(16);
  EXPECT_EQ(budget.threads, 8);
  EXPECT_EQ(budget.reason, "8 physical cores among 16 allowed CPUs");
}

TEST(CpuBudget, AQuotaIsRoundedDownAndNamed) {
  System system;
  system.cores(64, 1).put("proc/self/cgroup", "0::/\n").put("sys/fs/cgroup/cpu.max", "250000 100000\n");
  const auto budget = system.budget(64);
  EXPECT_EQ(budget.threads, 2);
  EXPECT_DOUBLE_EQ(budget.quota, 2.5);
  EXPECT_EQ(budget.reason, "cgroup quota of 2.5 CPUs, rounded down");
}

TEST(CpuBudget, AQuotaBelowOneCpuLeavesOneThread) {
  System system;
  system.cores(64, 1).put("proc/self/cgroup", "0::/\n").put("sys/fs/cgroup/cpu.max", "50000 100000\n");
  EXPECT_EQ(system.budget(64).threads, 1);
}

TEST(CpuBudget, TheSmallestQuotaOnTheWayToTheRootCounts) {
  System system;
  system.cores(64, 1)
      .put("proc/self/cgroup", "0::/user.slice/takt.service\n")
      .put("sys/fs/cgroup/user.slice/takt.service/cpu.max", "max 100000\n")
      .put("sys/fs/cgroup/user.slice/cpu.max", "300000 100000\n")
      .put("sys/fs/cgroup/cpu.max", "800000 100000\n");
  EXPECT_EQ(system.budget(64).threads, 3);
}

TEST(CpuBudget, APathThatAContainerDoesNotSeeFallsBackToItsRoot) {
  System system;
  system.cores(8, 1).put("proc/self/cgroup", "0::/docker/0123abc\n").put("sys/fs/cgroup/cpu.max", "400000 100000\n");
  EXPECT_EQ(system.budget(8).threads, 4);
}

TEST(CpuBudget, VersionOneQuotasCountToo) {
  System system;
  system.cores(8, 1)
      .put("proc/self/cgroup", "5:memory:/a\n3:cpuset,cpu:/a/b\n")
      .put("sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us", "-1\n")
      .put("sys/fs/cgroup/cpu/a/b/cpu.cfs_period_us", "100000\n")
      .put("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "350000\n")
      .put("sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(system.budget(8).threads, 3);
}

TEST(CpuBudget, ALargeQuotaAndNonsenseSetNoLimit) {
  for (const char* text :
       {"max 100000\n", "6400000 100000\n", "", "\n", "max\n", "nonsense\n", "x y\n", "100000\n", "0 0\n",
        "-5 100000\n", "100000 0\n", "nan nan\n", "inf 1\n", "1e400 1\n", "100000 100000x\n"}) {
    System system;
    system.cores(8, 1).put("proc/self/cgroup", "0::/\nnonsense\n::\n").put("sys/fs/cgroup/cpu.max", text);
    EXPECT_EQ(system.budget(8).threads, 8) << text;
  }
  EXPECT_EQ(System().budget(3).threads, 3) << "nothing is known";
  EXPECT_EQ(System().budget(0).threads, 1);
}

TEST(CpuBudget, OfThisProcessIsPossible) {
  const auto budget = detect_cpu_budget();
  EXPECT_GE(budget.threads, 1);
  EXPECT_LE(budget.threads, budget.affinity);
  EXPECT_FALSE(budget.reason.empty());
}

TEST(AvailableMemory, IsTheMachinesOrWhatTheCgroupLeaves) {
  System system;
  system.put("proc/meminfo", "MemTotal:  99 kB\nMemAvailable:  1000 kB\nHugePages_Total: 0\n");
  EXPECT_EQ(system.memory(), 1000U * 1024);
  system.put("proc/self/cgroup", "0::/a\n").put("sys/fs/cgroup/a/memory.max", "max\n");
  system.put("sys/fs/cgroup/a/memory.current", "1\n");
  EXPECT_EQ(system.memory(), 1000U * 1024);
  system.put("sys/fs/cgroup/a/memory.max", "600000\n").put("sys/fs/cgroup/a/memory.current", "500000\n");
  EXPECT_EQ(system.memory(), 100'000U);
  system.put("sys/fs/cgroup/a/memory.stat", "anon 1\ninactive_file 300000\nactive_file 5\n");
  EXPECT_EQ(system.memory(), 400'000U) << "a model file that was read is no memory that is gone";
  system.put("sys/fs/cgroup/memory.max", "10\n").put("sys/fs/cgroup/memory.current", "20\n");
  EXPECT_EQ(system.memory(), 0U);
}

TEST(AvailableMemory, VersionOneLimitsCountToo) {
  System system;
  system.put("proc/meminfo", "MemAvailable: 1000 kB\n").put("proc/self/cgroup", "4:memory:/a\n");
  system.put("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "700000\n");
  system.put("sys/fs/cgroup/memory/a/memory.usage_in_bytes", "400000\n");
  system.put("sys/fs/cgroup/memory/a/memory.stat", "total_inactive_file 100000\n");
  system.put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  system.put("sys/fs/cgroup/memory/memory.usage_in_bytes", "400000\n");
  EXPECT_EQ(system.memory(), 400'000U);
}

TEST(AvailableMemory, NonsenseSetsNoLimit) {
  System system;
  system.put("proc/meminfo", "MemAvailable: much\n:::\n").put("proc/self/cgroup", "0::/\n");
  system.put("sys/fs/cgroup/memory.max", "-1\n").put("sys/fs/cgroup/memory.current", "x\n");
  EXPECT_EQ(system.memory(), std::numeric_limits<std::size_t>::max());
}

}  // namespace
}  // namespace takt
