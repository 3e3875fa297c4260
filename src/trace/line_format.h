// How records become lines, by format.
#pragma once

#include <memory>
#include <string>

#include "trace/record.h"
#include "trace/writer.h"

namespace takt::trace {

class LineFormat {
 public:
  virtual ~LineFormat() = default;
  virtual void put_head(std::string& out) = 0;
  virtual void put(std::string& out, const Record& record) = 0;
};
std::unique_ptr<LineFormat> make_line_format(OutputFormat format, const Origin& origin);

}  // namespace takt::trace
