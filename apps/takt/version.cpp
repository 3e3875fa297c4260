#include "version.h"

#include "kernels/isa.h"
#include "kernels/numerics.h"

namespace takt::app {

metrics::BuildInfo build_info() {
  const auto isa = select_isa_from_environment();
  return {TAKT_VERSION, std::to_string(kNumericsVersion), isa ? std::string(isa_name(*isa)) : isa.error().message};
}

std::string version_line() {
  const auto info = build_info();
  return "takt " + info.version + ", numerics " + info.numerics + ", " + info.isa;
}

}  // namespace takt::app
