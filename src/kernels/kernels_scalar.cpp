#include "kernels/kernel_table_of.h"
#include "kernels/lanes_scalar.h"

namespace takt {

const KernelTable& scalar_kernels() {
  static constexpr KernelTable kTable = kernel_table_of<ScalarLanes>();
  return kTable;
}

}  // namespace takt
