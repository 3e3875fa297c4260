#include "machine_speed.h"

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "exec/cpu/cpu_executor.h"
#include "exec/cpu/speed_probe.h"

namespace takt::app {
namespace {

constexpr std::uint32_t kStreams[] = {1, 4, 8, 32};
constexpr std::uint32_t kContextTokens = 256;
constexpr std::uint32_t kDecodeSteps = 8;
constexpr std::uint32_t kPromptTokens = 512;
constexpr int kMeasuredRounds = 2;

std::string speed_line(const char* format, double a, double b) {
  char text[160];
  std::snprintf(text, sizeof(text), format, a, b);
  return text;
}

}  // namespace

double MachineSpeed::bandwidth_share(const Decode& at) const {
  if (peaks.read <= 0.0) return 0.0;
  return static_cast<double>(work.bytes) * at.tokens_per_second / at.streams / peaks.read;
}

double MachineSpeed::multiply_share(const Decode& at) const {
  if (peaks.multiply.int8 <= 0.0) return 0.0;
  return static_cast<double>(work.layer_elements + work.output_elements) * at.tokens_per_second / peaks.multiply.int8;
}

double MachineSpeed::prompt_multiply_share() const {
  if (peaks.multiply.int8 <= 0.0) return 0.0;
  const double elements =
      static_cast<double>(work.layer_elements) + static_cast<double>(work.output_elements) / prompt_tokens;
  return elements * prompt_tokens_per_second / peaks.multiply.int8;
}

Result<MachineSpeed> measure_machine_speed(const std::string& path, const GgufFile& file,
                                           const CpuExecutorOptions& options) {
  SteadyClock clock;
  auto executor = CpuExecutor::load(path, options, clock);
  if (!executor) return executor.error();
  const CpuRuntime& runtime = (*executor)->runtime();
  const ExecutorCapabilities& can = (*executor)->capabilities();

  MachineSpeed speed;
  speed.isa = isa_name(runtime.isa);
  speed.threads = runtime.pool->threads();
  speed.peaks = measure_machine_peaks(*runtime.pool, runtime.isa);
  speed.work = matrix_work(file).value_or(MatrixWork{});

  SpeedProbe probe(**executor);
  speed.context_tokens = std::min(kContextTokens, can.context_tokens - std::min(can.context_tokens, kDecodeSteps + 1));
  const std::uint64_t pool = pool_tokens(can.groups);
  for (const std::uint32_t streams : kStreams) {
    const std::uint64_t tokens =
        std::uint64_t{streams} * (speed.context_tokens + kDecodeSteps + can.groups[0].block_tokens);
    if (streams > can.max_sequences || streams > can.max_step_tokens || tokens > pool) break;
    const auto rate = probe.decode({streams, speed.context_tokens, kDecodeSteps}, kMeasuredRounds);
    if (!rate) return rate.error();
    speed.decode.push_back({streams, *rate});
  }
  speed.prompt_tokens = static_cast<std::uint32_t>(std::min<std::uint64_t>({kPromptTokens, can.context_tokens, pool}));
  const auto rate = probe.prefill({speed.prompt_tokens, std::min(kPromptTokens, can.max_step_tokens)}, kMeasuredRounds);
  if (!rate) return rate.error();
  speed.prompt_tokens_per_second = *rate;
  return speed;
}

std::string to_text(const MachineSpeed& speed) {
  std::ostringstream out;
  out << "\nSpeed of " << speed.threads << " threads (" << speed.isa << "), as far as other programs let them\n"
      << speed_line("  the machine reads %.1f GB/s and multiplies %.0f G 8-bit values a second\n",
                    speed.peaks.read * 1e-9, speed.peaks.multiply.int8 * 1e-9);
  for (const auto& at : speed.decode) {
    out << "  " << at.streams << (at.streams == 1 ? " stream" : " streams") << " at " << speed.context_tokens
        << speed_line(" tokens: %.1f tokens/s, %.1f each;", at.tokens_per_second, at.tokens_per_second / at.streams)
        << speed_line(" matrices take %.0f %% of the bandwidth, %.0f %% of the multiplications\n",
                      100 * speed.bandwidth_share(at), 100 * speed.multiply_share(at));
  }
  out << "  prompt of " << speed.prompt_tokens
      << speed_line(": %.1f tokens/s, %.0f %% of the multiplications\n", speed.prompt_tokens_per_second,
                    100 * speed.prompt_multiply_share());
  return std::move(out).str();
}

}  // namespace takt::app
