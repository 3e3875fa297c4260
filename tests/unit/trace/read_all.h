// Everything that a trace gives.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "trace/reader.h"

namespace takt::trace {

struct WholeTrace {
  std::vector<Record> records;
  ReadCounts counts;
  Origin origin;
  std::string error;  // empty: it was read to its end
};

inline WholeTrace read_all(const std::string& path, OnMalformed on_malformed = OnMalformed::kRefuse) {
  WholeTrace whole;
  ReadOptions options;
  options.on_malformed = on_malformed;
  auto reader = open_trace(path, options);
  if (!reader) {
    whole.error = reader.error().message;
    return whole;
  }
  for (;;) {
    auto record = (*reader)->next();
    if (!record) whole.error = record.error().message;
    if (!record || !*record) break;
    whole.records.push_back(std::move(**record));
  }
  whole.counts = (*reader)->counts();
  whole.origin = (*reader)->origin();
  return whole;
}

// rows = records + malformed + dropped.
inline void expect_counts_reconcile(const ReadCounts& counts) {
  std::uint64_t sum = counts.records + counts.malformed;
  for (const auto& [reason, count] : counts.dropped) sum += count;
  EXPECT_EQ(sum, counts.rows);
}

}  // namespace takt::trace
