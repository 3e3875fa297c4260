// Names of threads, as top, ps and taskset show them: who takes the time, and whom to pin.
#pragma once

namespace takt {

// Names the calling thread. At most 15 characters; a longer name is cut.
void name_this_thread(const char* name);

}  // namespace takt
