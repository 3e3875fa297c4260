// Compiled for Armv8.2 with the dot product extension: nothing here may run before the machine is known to have it.
#include "kernels/kernel_table_of.h"
#include "kernels/lanes_neon.h"

namespace takt {
namespace {

struct SignedDot {
  template <int kLane>
  static TAKT_INLINE int32x4_t add(int32x4_t sums, int8x16_t weights, int8x16_t x) {
    return vdotq_laneq_s32(sums, weights, x, kLane);
  }
};

}  // namespace

const KernelTable& neon_dot_kernels() {
  static constexpr KernelTable kTable = kernel_table_of<NeonLanes<SignedDot>>();
  return kTable;
}

}  // namespace takt
