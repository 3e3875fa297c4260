// Priorities of threads.
#pragma once

namespace takt {

// The calling thread alone gives way to all threads of usual priority: of a core that one of them wants it takes a few
// per cent, and all of one that they leave. Where the system refuses, nothing changes.
void give_way_to_other_threads() noexcept;

}  // namespace takt
