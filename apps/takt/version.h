// What this binary is.
#pragma once

#include <string>

#include "metrics/exposition.h"

namespace takt::app {

// `isa` is what kernels will use here; when TAKT_ISA names one that cannot be had, the error's words.
metrics::BuildInfo build_info();

// "takt 0.1.0, numerics 1, avx2"
std::string version_line();

}  // namespace takt::app
