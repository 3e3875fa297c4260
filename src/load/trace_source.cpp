#include "load/trace_source.h"

#include <algorithm>
#include <cmath>
#include <deque>

#include "base/random.h"

namespace takt::load {
namespace {

constexpr std::size_t kMostClasses = 256;        // a report has a row for each
constexpr std::uint32_t kRoomAfterCancel = 256;  // tokens that a cancelled answer would still have had, where not known

std::string class_name(const trace::Record& record) {
  if (!record.service_class.empty()) return record.service_class;
  if (record.tier) return *record.tier == Tier::kBatch ? "batch" : "realtime";
  return "trace";
}

std::uint32_t wanted_output(const trace::Record& record) {
  const std::uint32_t seen = record.output_tokens / std::max(record.choices, 1U);
  switch (record.outcome) {
    case trace::Outcome::kCancelled:
      return record.max_tokens.value_or(seen + kRoomAfterCancel);
    case trace::Outcome::kFailed:
    case trace::Outcome::kRefused:
      return std::max(seen, record.max_tokens.value_or(0));
    default:
      return seen;
  }
}

class TraceSource final : public RequestSource {
 public:
  TraceSource(std::unique_ptr<trace::Reader> reader, const ReplayOptions& options, std::vector<LoadClass>& classes,
              ReplayCounts& counts)
      : reader_(std::move(reader)), options_(options), classes_(classes), counts_(counts) {}

  Result<std::optional<PlannedRequest>> next() override {
    while (!options_.first || counts_.kept < *options_.first) {
      auto record = reader_->next();
      if (!record) return record.error();
      if (!*record) break;
      ++counts_.records;
      if (auto request = take(**record)) return request;
    }
    return std::optional<PlannedRequest>();
  }

 private:
  std::optional<PlannedRequest> drop(const char* reason) {
    ++counts_.dropped[reason];
    return std::nullopt;
  }

  std::optional<PlannedRequest> take(const trace::Record& record) {
    const std::uint32_t output = wanted_output(record);
    if (record.work == trace::Work::kEmbed) return drop("embeddings");
    if (record.prompt_tokens == 0) return drop("no prompt");
    if (output == 0) return drop("no output length");
    if (options_.most_tokens && std::uint64_t{record.prompt_tokens} + output > *options_.most_tokens)
      return drop("longer than the server's context");
    const auto class_index = class_of(record);
    if (!class_index) return drop("of a class beyond the first 256");
    ++counts_.kept;
    return plan(record, output, *class_index);
  }

  PlannedRequest plan(const trace::Record& record, std::uint32_t output, std::uint32_t class_index) {
    PlannedRequest request;
    if (!origin_) origin_ = record.arrival;
    request.at = record.arrival - *origin_;
    request.class_index = class_index;
    request.prompt_tokens = record.prompt_tokens;
    request.output_tokens = output;
    request.block_tokens = record.blocks.block_tokens;
    request.hashes = record.blocks.hashes;
    request.text_seed = options_.seed ^ (counts_.records * 0x9E3779B97F4A7C15U);
    request.text = record.prompt_text;
    if (record.outcome == trace::Outcome::kCancelled && record.timings.cancelled)
      request.cancel_after = record.timings.cancelled;
    request.application = record.application;
    request.tenant = record.tenant;
    request.user = record.user;
    request.session = record.session;
    request.think = record.think_time.value_or(Duration(0));
    return request;
  }

  // Empty: there are too many classes.
  std::optional<std::uint32_t> class_of(const trace::Record& record) {
    const std::string name = class_name(record);
    const auto found =
        std::find_if(classes_.begin(), classes_.end(), [&](const auto& one) { return one.name == name; });
    if (found != classes_.end()) return static_cast<std::uint32_t>(found - classes_.begin());
    if (classes_.size() >= kMostClasses) return std::nullopt;
    LoadClass added;
    added.name = name;
    added.service_class = record.service_class;
    added.targets = {
        .ttft = record.targets.ttft, .itl = record.targets.itl, .tpot = {}, .end_to_end = record.targets.completion};
    const auto& own = added.targets;
    if (!own.ttft && !own.itl && !own.end_to_end) added.targets = options_.targets;
    classes_.push_back(std::move(added));
    return static_cast<std::uint32_t>(classes_.size() - 1);
  }

  std::unique_ptr<trace::Reader> reader_;
  ReplayOptions options_;
  std::vector<LoadClass>& classes_;
  ReplayCounts& counts_;
  std::optional<Duration> origin_;
};

}  // namespace

std::unique_ptr<RequestSource> make_trace_source(std::unique_ptr<trace::Reader> reader, const ReplayOptions& options,
                                                 std::vector<LoadClass>& classes, ReplayCounts& counts) {
  return std::make_unique<TraceSource>(std::move(reader), options, classes, counts);
}

}  // namespace takt::load
