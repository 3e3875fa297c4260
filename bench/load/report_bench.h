// How long a report of many requests takes, and how large it is.
#pragma once

#include <cstddef>

namespace takt::bench {

void bench_report(std::size_t requests);

}  // namespace takt::bench
