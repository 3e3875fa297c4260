#include "kernels/isa.h"

#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

namespace takt {
namespace {

constexpr std::array kAll = {Isa::kScalar, Isa::kAvx2, Isa::kAvx512, Isa::kAmx, Isa::kNeon, Isa::kNeonDot};
#if defined(TAKT_KERNELS_AVX2)
constexpr std::array kBuilt = {Isa::kScalar, Isa::kAvx2};
#elif defined(TAKT_KERNELS_NEON)
constexpr std::array kBuilt = {Isa::kScalar, Isa::kNeon, Isa::kNeonDot};
#else
constexpr std::array kBuilt = {Isa::kScalar};
#endif

#if defined(__x86_64__)

struct Registers {
  std::uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Registers cpuid(std::uint32_t leaf, std::uint32_t subleaf) {
  Registers r;
  if (__get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx) == 0) return {};
  return r;
}

bool has(std::uint32_t word, int bit) {
  return ((word >> bit) & 1U) != 0;
}

// XCR0: which register state the operating system saves.
std::uint64_t enabled_state() {
  if (!has(cpuid(1, 0).ecx, 27)) return 0;
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<std::uint64_t>(high) << 32U) | low;
}

bool avx2_available() {
  const Registers one = cpuid(1, 0);
  const bool features =
      has(one.ecx, 12) && has(one.ecx, 28) && has(one.ecx, 29) && has(cpuid(7, 0).ebx, 5);  // FMA, AVX, F16C, AVX2
  constexpr std::uint64_t kState = 0x6;                                                     // SSE, AVX
  return features && (enabled_state() & kState) == kState;
}

bool avx512_available() {
  const Registers seven = cpuid(7, 0);
  const bool features = has(seven.ebx, 16) && has(seven.ebx, 17) && has(seven.ebx, 30) && has(seven.ebx, 31) &&
                        has(seven.ecx, 11);  // F, DQ, BW, VL, VNNI
  constexpr std::uint64_t kState = 0xE6;     // and opmask, ZMM
  return avx2_available() && features && (enabled_state() & kState) == kState;
}

// The kernel's permission for the tile state is asked for by whoever starts AMX threads; refused, the level falls away
// there.
bool amx_available() {
  const Registers seven = cpuid(7, 0);
  const bool features =
      has(seven.edx, 24) && has(seven.edx, 25) && cpuid(0x1D, 1).ebx != 0;  // AMX-TILE, AMX-INT8, palette 1
  constexpr std::uint64_t kState = 0x60000;                                 // TILECFG, TILEDATA
  return avx512_available() && features && (enabled_state() & kState) == kState;
}

#else

bool avx2_available() {
  return false;
}
bool avx512_available() {
  return false;
}
bool amx_available() {
  return false;
}

#endif

#if defined(__aarch64__)

bool neon_available() {
  return true;
}

bool neon_dot_available() {
#if defined(__linux__)
  constexpr unsigned long kDotProduct = 1UL << 20U;  // HWCAP_ASIMDDP
  return (::getauxval(AT_HWCAP) & kDotProduct) != 0;
#else
  return false;
#endif
}

#else

bool neon_available() {
  return false;
}
bool neon_dot_available() {
  return false;
}

#endif

bool built(Isa isa) {
  for (const Isa other : kBuilt) {
    if (other == isa) return true;
  }
  return false;
}

}  // namespace

std::string_view isa_name(Isa isa) {
  switch (isa) {
    case Isa::kScalar:
      return "scalar";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
    case Isa::kAmx:
      return "amx";
    case Isa::kNeon:
      return "neon";
    case Isa::kNeonDot:
      return "neon_dot";
  }
  return "unknown";
}

bool isa_available(Isa isa) {
  switch (isa) {
    case Isa::kScalar:
      return true;
    case Isa::kAvx2:
      return avx2_available();
    case Isa::kAvx512:
      return avx512_available();
    case Isa::kAmx:
      return amx_available();
    case Isa::kNeon:
      return neon_available();
    case Isa::kNeonDot:
      return neon_dot_available();
  }
  return false;
}

std::span<const Isa> isa_built() {
  return kBuilt;
}

Result<Isa> select_isa(std::string_view wanted) {
  if (wanted.empty()) {
    Isa best = Isa::kScalar;
    for (const Isa isa : kBuilt) {
      if (isa_available(isa)) best = isa;
    }
    return best;
  }
  for (const Isa isa : kAll) {
    if (isa_name(isa) != wanted) continue;
    if (!isa_available(isa))
      return Error::invalid("TAKT_ISA",
                            "TAKT_ISA=" + std::string(wanted) + ": this machine does not have that instruction set");
    if (!built(isa))
      return Error::invalid("TAKT_ISA",
                            "TAKT_ISA=" + std::string(wanted) + ": this build has no kernels for that instruction set");
    return isa;
  }
  return Error::invalid("TAKT_ISA", "TAKT_ISA must be scalar, avx2, avx512, amx, neon or neon_dot, not \"" +
                                        std::string(wanted.substr(0, 32)) + "\"");
}

Result<Isa> select_isa_from_environment() {
  const char* wanted = std::getenv("TAKT_ISA");
  return select_isa(wanted == nullptr ? std::string_view{} : std::string_view(wanted));
}

}  // namespace takt
