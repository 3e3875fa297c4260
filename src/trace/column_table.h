// A table of numbers that is no trace of requests: what its columns hold.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace takt::trace {

struct ColumnFigures {
  std::string name;
  std::uint64_t numbers = 0;  // values that are numbers
  double least = 0.0;
  double most = 0.0;
  double mean = 0.0;
};
struct ColumnTable {
  std::uint64_t rows = 0;
  std::vector<ColumnFigures> columns;
};
// Errors: kIo; kInvalidArgument with FILE:LINE: no table, a row of another length.
Result<ColumnTable> read_columns(const std::string& path);

}  // namespace takt::trace
