#include "kernels/kernel_table.h"

#include "kernels/isa.h"

namespace takt {

const KernelTable& kernel_table(Isa isa) {
#if defined(TAKT_KERNELS_AVX2)
  if (isa != Isa::kScalar) return avx2_kernels();
#elif defined(TAKT_KERNELS_NEON)
  if (isa != Isa::kScalar) return isa == Isa::kNeon ? neon_kernels() : neon_dot_kernels();
#endif
  static_cast<void>(isa);
  return scalar_kernels();
}

}  // namespace takt
