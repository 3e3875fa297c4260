#include "trace/merged_reader.h"

#include <algorithm>
#include <utility>

namespace takt::trace {
namespace {

struct MergedSource {
  std::unique_ptr<Reader> reader;
  Duration shift{0};
  std::optional<Record> ahead;
  bool started = false;
};

class MergedReader final : public Reader {
 public:
  MergedReader(std::vector<MergedSource> sources, Origin origin)
      : sources_(std::move(sources)), origin_(std::move(origin)) {}

  Result<std::optional<Record>> next() override {
    MergedSource* earliest = nullptr;
    for (MergedSource& source : sources_) {
      if (!source.started) {
        if (const Status filled = fill(source); !filled) return filled.error();
      }
      if (source.ahead && (earliest == nullptr || source.ahead->arrival < earliest->ahead->arrival)) earliest = &source;
    }
    if (earliest == nullptr) return std::optional<Record>{};
    std::optional<Record> record = std::move(earliest->ahead);
    if (const Status filled = fill(*earliest); !filled) return filled.error();
    return record;
  }

  const Origin& origin() const override { return origin_; }
  const ReadCounts& counts() const override { return counts_; }

 private:
  Status fill(MergedSource& source) {
    source.started = true;
    source.ahead.reset();
    auto record = source.reader->next();
    gather();
    if (!record) return record.error();
    if (!*record) return {};
    source.ahead = std::move(**record);
    source.ahead->arrival += source.shift;
    if (!source.ahead->session.empty()) source.ahead->session += "@" + std::to_string(&source - sources_.data());
    return {};
  }

  void gather() {
    counts_ = {};
    for (const MergedSource& source : sources_) {
      const ReadCounts& counts = source.reader->counts();
      const std::uint64_t held = source.ahead ? 1 : 0;
      counts_.rows += counts.rows - held;
      counts_.records += counts.records - held;
      counts_.malformed += counts.malformed;
      counts_.out_of_order += counts.out_of_order;
      for (const auto& [reason, count] : counts.dropped) counts_.dropped[reason] += count;
      if (counts_.first_malformed.empty()) counts_.first_malformed = counts.first_malformed;
    }
  }

  std::vector<MergedSource> sources_;
  const Origin origin_;
  ReadCounts counts_;
};

}  // namespace

Result<std::unique_ptr<Reader>> merged(std::vector<std::unique_ptr<Reader>> readers, Align align) {
  if (readers.empty()) return Error::invalid("files", "there is no trace to merge");
  std::optional<std::int64_t> earliest;
  for (const auto& reader : readers) {
    const Origin& origin = reader->origin();
    if (!origin.has_arrivals) return Error::invalid("files", origin.file + " has no instants to merge by");
    if (align == Align::kWall && !origin.wall_nanoseconds)
      return Error::invalid("align", origin.file + " does not say when it was: merge by start");
    if (origin.wall_nanoseconds)
      earliest = std::min(earliest.value_or(*origin.wall_nanoseconds), *origin.wall_nanoseconds);
  }
  Origin origin = readers.front()->origin();
  origin.format = Format::kTakt;
  origin.wall_nanoseconds = align == Align::kWall ? earliest : std::nullopt;
  std::vector<MergedSource> sources;
  for (auto& reader : readers) {
    const Duration shift =
        align == Align::kWall ? Duration(*reader->origin().wall_nanoseconds - *earliest) : Duration(0);
    sources.push_back({std::move(reader), shift, std::nullopt, false});
  }
  return std::unique_ptr<Reader>(std::make_unique<MergedReader>(std::move(sources), std::move(origin)));
}

}  // namespace takt::trace
