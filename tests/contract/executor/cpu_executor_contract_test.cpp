#include "contract/executor/executor_contract.h"
#include "exec/cpu/cpu_executor.h"

namespace takt::testing {
namespace {

const SteadyClock kClock;

ExecutorUnderTest cpu(const char* name, const char* isa, int threads, KvType kv_type) {
  return {name, [=]() -> std::unique_ptr<Executor> {
            CpuExecutorOptions options;
            options.isa = isa;
            options.threads = threads;
            options.kv_type = kv_type;
            options.kv_blocks = 64;
            options.max_step_tokens = 64;
            auto executor = CpuExecutor::load(TAKT_SOURCE_DIR "/tests/data/tiny.gguf", options, kClock);
            if (!executor) {
              ADD_FAILURE() << executor.error().message;
              return nullptr;
            }
            return std::move(executor.value());
          }};
}

INSTANTIATE_TEST_SUITE_P(Cpu, ExecutorContract,
                         ::testing::Values(cpu("cpu", "", 2, KvType::kF16),
                                           cpu("cpu_scalar_with_f32_kv", "scalar", 1, KvType::kF32),
                                           cpu("cpu_with_q8_0_kv", "", 2, KvType::kQ8_0)),
                         executor_name);

}  // namespace
}  // namespace takt::testing
