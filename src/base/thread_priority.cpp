#include "base/thread_priority.h"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>

namespace takt {

void give_way_to_other_threads() noexcept {
  // The kernel's weight of such a thread is a thirtieth of the usual one.
  constexpr int kNicer = 15;
  constexpr int kNicest = 19;
  // Both calls are about the thread, not the process, where Linux is asked.
  errno = 0;
  const int nice = ::getpriority(PRIO_PROCESS, 0);
  if (nice == -1 && errno != 0) return;
  ::setpriority(PRIO_PROCESS, 0, std::min(kNicest, nice + kNicer));
}

}  // namespace takt
