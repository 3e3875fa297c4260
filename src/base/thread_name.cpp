#include "base/thread_name.h"

#include <pthread.h>

#include <cstring>

namespace takt {

void name_this_thread(const char* name) {
  char cut[16] = {};  // the kernel's limit, with its end
  std::strncpy(cut, name, sizeof(cut) - 1);
  pthread_setname_np(pthread_self(), cut);
}

}  // namespace takt
