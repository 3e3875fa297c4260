#include "engine/status.h"

namespace takt {

bool stands_still(const ProgressSample& sample, TimePoint now, Duration limit) {
  return sample.work_waits && now - sample.last_progress > limit;
}

}  // namespace takt
