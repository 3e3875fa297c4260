// Files that a command writes, and those that it reads.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace takt::app {

struct OutputFile {
  std::string option;                   // "--json"
  std::string path;                     // empty: not asked for
  bool may_be_standard_output = false;  // by the name "-"
};

// The files to be written are different ones, and none is an input, whatever names they go by. Empty inputs are none.
// No file is called "-" by mistake. Errors: kInvalidArgument, naming both, or the one.
Status check_outputs(const std::vector<OutputFile>& outputs, const std::vector<std::string>& inputs);

// Whole or not at all: under another name first. Errors: kIo.
Status write_file(const std::string& path, const std::string& text);
// Errors: kIo; kResourceExhausted beyond a gigabyte.
Result<std::string> read_file(const std::string& path);

}  // namespace takt::app
