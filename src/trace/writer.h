// Writes traces in every format that others read.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "trace/reader.h"
#include "trace/record.h"

namespace takt::trace {

enum class OutputFormat : std::uint8_t {
  kTakt,      // everything
  kMooncake,  // instants in ms, lengths, prefix blocks of 512 tokens
  kAzure,     // wall clock, lengths
  kBurstGpt,  // instants in seconds, model, lengths, task, session, time of the whole request
  kTable,     // instants, who and what for, session, lengths
  kLengths,   // lengths only, as the public ones of ShareGPT
};
// Empty: no such word.
std::optional<OutputFormat> output_format(std::string_view word);
const char* to_string(OutputFormat format);
// What a reader of the format learns, for people.
const char* what_it_keeps(OutputFormat format);

class Writer {
 public:
  virtual ~Writer() = default;
  // Errors: kIo; kInvalidArgument: it arrives before the trace begins.
  virtual Status write(const Record& record) = 0;
  // The file gets its name. Without it nothing is left. Errors: kIo.
  virtual Status finish() = 0;
};

// `path` must not be there yet: what is read is never overwritten, nor is anything else. Until finish() the file is
// PATH.partial. Errors: kIo; kInvalidArgument, field "output": it is there.
Result<std::unique_ptr<Writer>> create_trace(const std::string& path, OutputFormat format, const Origin& origin);

}  // namespace takt::trace
