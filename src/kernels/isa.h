// Instruction sets that kernels exist for, and the choice among them.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"

namespace takt {

enum class Isa { kScalar, kAvx2, kAvx512, kAmx, kNeon, kNeonDot };

// "scalar", "avx2", "avx512", "amx", "neon", "neon_dot": the values of TAKT_ISA.
std::string_view isa_name(Isa isa);

// What this machine and the operating system can run: on x86-64 from the CPUID leaves and the enabled register state,
// on AArch64, which always has kNeon, from the capabilities that Linux tells.
bool isa_available(Isa isa);

// What this build has kernels for, ascending.
std::span<const Isa> isa_built();

// The best level that is built and available; `wanted`, when not empty, names the level instead. Errors
// (kInvalidArgument, field TAKT_ISA): an unknown name, a level that this machine or this build does not have.
Result<Isa> select_isa(std::string_view wanted);

// select_isa of the environment variable TAKT_ISA. The caller logs the choice.
Result<Isa> select_isa_from_environment();

}  // namespace takt
