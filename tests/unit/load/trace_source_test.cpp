#include "load/trace_source.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace takt::load {
namespace {

class ListedRecords final : public trace::Reader {
 public:
  explicit ListedRecords(std::vector<trace::Record> records) : records_(std::move(records)) {}
  Result<std::optional<trace::Record>> next() override {
    if (next_ == records_.size()) return std::optional<trace::Record>();
    return std::optional(records_[next_++]);
  }
  const trace::Origin& origin() const override { return origin_; }
  const trace::ReadCounts& counts() const override { return counts_; }

 private:
  std::vector<trace::Record> records_;
  std::size_t next_ = 0;
  trace::Origin origin_;
  trace::ReadCounts counts_;
};

trace::Record record_of(std::uint32_t prompt, std::uint32_t output, std::string service_class = "") {
  trace::Record record;
  record.prompt_tokens = prompt;
  record.output_tokens = output;
  record.service_class = std::move(service_class);
  return record;
}

struct Replayed {
  std::vector<PlannedRequest> requests;
  std::vector<LoadClass> classes;
  ReplayCounts counts;
};

Replayed replay(std::vector<trace::Record> records, const ReplayOptions& options = {}) {
  Replayed replayed;
  auto source = make_trace_source(std::make_unique<ListedRecords>(std::move(records)), options, replayed.classes,
                                  replayed.counts);
  for (;;) {
    auto request = source->next();
    EXPECT_TRUE(request);
    if (!request || !*request) return replayed;
    replayed.requests.push_back(std::move(**request));
  }
}

std::uint64_t sum_of_dropped(const ReplayCounts& counts) {
  std::uint64_t sum = 0;
  for (const auto& [reason, count] : counts.dropped) sum += count;
  return sum;
}

// G2: what is not sent is counted by its reason.
TEST(TraceSource, WhatIsLeftOutIsCountedByItsReason) {
  auto embedding = record_of(5, 5);
  embedding.work = trace::Work::kEmbed;
  ReplayOptions options;
  options.most_tokens = 100;
  const auto replayed =
      replay({record_of(5, 5), record_of(0, 5), record_of(5, 0), record_of(90, 11), embedding}, options);
  EXPECT_EQ(replayed.requests.size(), 1U);
  EXPECT_EQ(replayed.counts.records, 5U);
  EXPECT_EQ(replayed.counts.kept, 1U);
  EXPECT_EQ(replayed.counts.dropped.size(), 4U);
  EXPECT_EQ(sum_of_dropped(replayed.counts), 4U);
}

TEST(TraceSource, AsManyClassesAsAReportCanShow) {
  std::vector<trace::Record> records;
  for (int i = 0; i < 300; ++i) records.push_back(record_of(5, 5, "class-" + std::to_string(i)));
  records.push_back(record_of(5, 5, "class-7"));
  const auto replayed = replay(std::move(records));
  EXPECT_EQ(replayed.classes.size(), 256U);
  EXPECT_EQ(replayed.requests.size(), 257U);
  EXPECT_EQ(replayed.requests.back().class_index, 7U);
  EXPECT_EQ(replayed.counts.dropped.at("of a class beyond the first 256"), 44U);
}

}  // namespace
}  // namespace takt::load
