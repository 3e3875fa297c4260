// Compiled with -mavx2 -mfma -mf16c: nothing here may run before the machine is known to have them.
#include "kernels/kernel_table_of.h"
#include "kernels/lanes_avx2.h"

namespace takt {

const KernelTable& avx2_kernels() {
  static constexpr KernelTable kTable = kernel_table_of<Avx2Lanes>();
  return kTable;
}

}  // namespace takt
