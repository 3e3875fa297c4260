// A step that is no larger than one before it allocates nothing.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <numeric>
#include <vector>

#include "kernel_fixtures.h"
#include "kernels/attention.h"
#include "kernels/matmul.h"
#include "kernels/rows.h"

namespace {

std::atomic<long> allocations{0};

}  // namespace

// Not inlined: the compiler would see malloc on one side and delete on the other, and warn.
__attribute__((noinline)) void* operator new(std::size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
__attribute__((noinline)) void operator delete(void* memory) noexcept {
  std::free(memory);
}
__attribute__((noinline)) void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace takt {
namespace {

TEST(SteadyState, AStepOfKernelsAllocatesNothingOnceWarm) {
  constexpr std::size_t kRows = 20;
  constexpr std::size_t kWidth = 256;
  ThreadPool pool(2);
  const Compute compute(test::runnable_levels().back(), pool);
  std::vector<PackedMatrix> matrices;
  std::vector<std::vector<std::byte>> files;
  for (const TensorType type : {TensorType::kQ4_1, TensorType::kQ4_K, TensorType::kF16, TensorType::kQ6_K}) {
    files.push_back(test::random_weights(type, 41, kWidth, kWidth));
    matrices.push_back(PackedMatrix::pack(type, files.back(), kWidth, kWidth, pool).value());
  }
  for (const KvType type : {KvType::kF16, KvType::kQ8_0}) {
    KvBlocks cache;
    cache.layout = {type, 1, 2, 64, 64, 16};
    std::vector<std::byte> memory(cache.layout.block_bytes() * 40);
    cache.data = memory.data();
    cache.block_count = 40;
    std::vector<std::uint32_t> table(40);
    std::iota(table.begin(), table.end(), 0U);
    const std::vector<AttentionRows> sequences = {{table, 505, static_cast<std::uint32_t>(kRows), 0}};
    std::vector<float> x = test::random_floats(42, kRows * kWidth);
    std::vector<float> kv = test::random_floats(43, kRows * 128);
    std::vector<float> out(kRows * kWidth);
    const MatrixView x_view = test::view_of(x, kRows, kWidth);
    const MatrixView out_view = test::view_of(out, kRows, kWidth);
    const MatrixView kv_view = test::view_of(kv, kRows, 128);
    Activations activations;
    AttentionWorkspace workspace;
    const auto step = [&] {
      bool ok = activations.assign(compute, x_view, ActivationFormats::kBlock32).ok();
      for (const PackedMatrix& matrix : matrices) ok = ok && matmul(compute, matrix, activations, out_view).ok();
      ok = ok && store_keys_values(compute, cache, 0, sequences, kv_view, kv_view).ok();
      ok = ok && attend(compute, cache, {0, 4, 0.1F}, sequences, x_view, out_view, workspace).ok();
      ok =
          ok &&
          activations.assign_normalised(compute, out_view, x.data(), 1e-5F, out_view, ActivationFormats::kBlock32).ok();
      ok = ok && activations.assign_gated(compute, out_view, x_view, ActivationFormats::kBlock32).ok();
      add(compute, out_view, x_view);
      return ok;
    };
    ASSERT_TRUE(step());
    const long before = allocations.load();
    ASSERT_TRUE(step());
    EXPECT_EQ(allocations.load() - before, 0) << kv_type_name(type);
  }
}

}  // namespace
}  // namespace takt
