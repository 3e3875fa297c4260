// A check of options that are numbers with a fraction. CLI::Range lets through what is no number (NaN).
#pragma once

#include <CLI/CLI.hpp>

namespace takt::app {

// Both ends are allowed.
CLI::Validator number_in(double least, double most);

}  // namespace takt::app
