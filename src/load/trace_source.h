// The requests of a trace as a load: who asked for how much and when, with the text made anew.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "load/planned_request.h"
#include "trace/reader.h"

namespace takt::load {

struct ReplayOptions {
  std::optional<std::uint64_t> first;        // only so many
  std::optional<std::uint32_t> most_tokens;  // prompt and answer together: what the server can take
  measure::Targets targets;                  // of classes whose records promise nothing
  std::uint64_t seed = 1;
};

// What became of the trace's records; records = kept + the sum of dropped.
struct ReplayCounts {
  std::uint64_t records = 0;
  std::uint64_t kept = 0;
  std::map<std::string, std::uint64_t> dropped;  // by reason
};

// `reader` gives its records in the order of their arrival (trace/sorted_reader.h). A class of the trace is a class of
// the load, with the targets of its first record; classes that `classes` does not have are added to it. `counts` is
// current while the source is read. Both outlive the source.
std::unique_ptr<RequestSource> make_trace_source(std::unique_ptr<trace::Reader> reader, const ReplayOptions& options,
                                                 std::vector<LoadClass>& classes, ReplayCounts& counts);

}  // namespace takt::load
