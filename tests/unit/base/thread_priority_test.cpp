#include "base/thread_priority.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <thread>

namespace takt {
namespace {

int niceness() {
  return ::getpriority(PRIO_PROCESS, 0);
}

TEST(ThreadPriority, TheThreadThatGivesWayIsTheOnlyOne) {
  const int before = niceness();
  int of_thread = before;
  std::thread([&] {
    give_way_to_other_threads();
    of_thread = niceness();
  }).join();
  EXPECT_EQ(of_thread, std::min(19, before + 15));
  EXPECT_EQ(niceness(), before);
}

}  // namespace
}  // namespace takt
