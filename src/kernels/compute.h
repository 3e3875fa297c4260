// What every kernel call needs: the instruction set's functions and the team of threads. Neither changes a result.
#pragma once

#include "base/thread_pool.h"
#include "kernels/isa.h"
#include "kernels/kernel_table.h"

namespace takt {

struct Compute {
  const KernelTable& kernels;
  ThreadPool& pool;

  Compute(Isa isa, ThreadPool& threads) : kernels(kernel_table(isa)), pool(threads) {}
};

}  // namespace takt
