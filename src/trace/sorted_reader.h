// A trace in the order of its arrivals.
#pragma once

#include <cstddef>
#include <memory>

#include "trace/reader.h"

namespace takt::trace {

// Holds back `window` records to put them in order; equal instants keep the file's order. A record that comes even
// later than that is an error, or is given with the instant of the one before it and counted as out of order
// (OnMalformed::kSkip). Instants below 0, of a file that counts from a row that is not its earliest, are moved with the
// origin so that the earliest is 0. Its counts are the reader's otherwise.
std::unique_ptr<Reader> sorted_by_arrival(std::unique_ptr<Reader> reader, OnMalformed when_too_late,
                                          std::size_t window = 65'536);

}  // namespace takt::trace
