// Every AArch64 machine has what this needs.
#include "kernels/kernel_table_of.h"
#include "kernels/lanes_neon.h"

namespace takt {
namespace {

// Bytes are multiplied to 16 bits (128 * 127 fits) and added in pairs, twice.
struct WidenedProducts {
  template <int kLane>
  static TAKT_INLINE int32x4_t add(int32x4_t sums, int8x16_t weights, int8x16_t x) {
    const int8x16_t four = vreinterpretq_s8_s32(vdupq_laneq_s32(vreinterpretq_s32_s8(x), kLane));
    const int32x4_t low = vpaddlq_s16(vmull_s8(vget_low_s8(weights), vget_low_s8(four)));
    const int32x4_t high = vpaddlq_s16(vmull_s8(vget_high_s8(weights), vget_high_s8(four)));
    return vaddq_s32(sums, vpaddq_s32(low, high));
  }
};

}  // namespace

const KernelTable& neon_kernels() {
  static constexpr KernelTable kTable = kernel_table_of<NeonLanes<WidenedProducts>>();
  return kTable;
}

}  // namespace takt
