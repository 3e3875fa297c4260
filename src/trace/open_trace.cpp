#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "trace/file_reader.h"
#include "trace/json_values.h"
#include "trace/reader.h"
#include "trace/takt_format.h"

namespace takt::trace {
namespace {

namespace fs = std::filesystem;

struct Segment {
  std::string path;
  TaktTraceHead head;
};

// Files of a folder, one after the other. Arrivals count from the first segment's origin; inside a run of the server
// they are of one monotonic clock, and between runs wall clocks say how far apart they are.
class FolderReader final : public Reader {
 public:
  FolderReader(std::vector<Segment> segments, const ReadOptions& options, std::string path)
      : segments_(std::move(segments)), options_(options) {
    origin_.file = std::move(path);
    origin_.format = Format::kTakt;
    const TaktTraceHead& first = segments_.front().head;
    origin_.wall_nanoseconds = first.wall_nanoseconds;
    origin_.server = segments_.back().head.server;
    origin_.configuration = segments_.back().head.configuration;
  }

  Result<std::optional<Record>> next() override {
    for (;;) {
      if (!reader_) {
        if (next_ == segments_.size()) return std::optional<Record>{};
        if (const Status opened = open_segment(); !opened) return opened.error();
      }
      auto record = reader_->next();
      gather();
      if (!record) {
        next_ = segments_.size();
        return record;
      }
      if (*record) {
        (*record)->arrival += shift_;
        if (last_arrival_ && (*record)->arrival < *last_arrival_) ++out_of_order_;
        last_arrival_ = (*record)->arrival;
        counts_.out_of_order = out_of_order_;
        return record;
      }
      before_ = counts_;
      reader_.reset();
    }
  }

  const Origin& origin() const override { return origin_; }
  const ReadCounts& counts() const override { return counts_; }

 private:
  Status open_segment() {
    const Segment& segment = segments_[next_++];
    auto reader = FileReader::open(segment.path, options_);
    if (!reader) return reader.error();
    reader_ = std::move(*reader);
    if (segment.head.wall_nanoseconds && origin_.wall_nanoseconds)
      shift_ = Duration(*segment.head.wall_nanoseconds - *origin_.wall_nanoseconds);
    return {};
  }

  void gather() {
    const ReadCounts& now = reader_->counts();
    counts_ = before_;
    counts_.rows += now.rows;
    counts_.records += now.records;
    counts_.malformed += now.malformed;
    for (const auto& [reason, count] : now.dropped) counts_.dropped[reason] += count;
    if (counts_.first_malformed.empty()) counts_.first_malformed = now.first_malformed;
    counts_.out_of_order = out_of_order_;
  }

  const std::vector<Segment> segments_;
  const ReadOptions options_;
  Origin origin_;
  std::size_t next_ = 0;
  std::unique_ptr<FileReader> reader_;
  Duration shift_{0};
  ReadCounts before_;  // of the segments that are read
  ReadCounts counts_;
  std::uint64_t out_of_order_ = 0;
  std::optional<Duration> last_arrival_;
};

// Empty: no segment, or one that a crash cut off in its first line.
Result<std::optional<TaktTraceHead>> head_of(const std::string& path, const ReadOptions& options) {
  auto lines = LineSource::open(path, options.max_line_bytes);
  if (!lines) return lines.error();
  std::string_view line;
  auto got = lines->next(line);
  if (!got) return got.error();
  if (*got != LineSource::Got::kLine || line.substr(0, kTaktTraceBeginning.size()) != kTaktTraceBeginning ||
      !lines->whole())
    return std::optional<TaktTraceHead>{};
  auto head = parse_head_line(line);
  if (!head) return Error::invalid(head.error().field, path + ":1: " + head.error().message);
  return std::optional(std::move(*head));
}

Result<std::unique_ptr<Reader>> open_folder(const std::string& path, const ReadOptions& options) {
  std::vector<Segment> segments;
  std::error_code failure;
  for (fs::directory_iterator entry(path, failure), end; !failure && entry != end; entry.increment(failure)) {
    std::error_code none;
    if (entry->path().extension() != ".jsonl" || !entry->is_regular_file(none)) continue;
    auto head = head_of(entry->path().string(), options);
    if (!head) return head.error();
    if (*head) segments.push_back({entry->path().string(), std::move(**head)});
  }
  if (failure) return Error{ErrorCode::kIo, path + ": " + failure.message(), {}};
  if (segments.empty()) return Error::invalid("", path + " holds no segment of a capture (*.jsonl)");
  std::sort(segments.begin(), segments.end(), [](const Segment& a, const Segment& b) {
    return std::pair(a.head.run, a.head.part) < std::pair(b.head.run, b.head.part);
  });
  return std::unique_ptr<Reader>(std::make_unique<FolderReader>(std::move(segments), options, path));
}

}  // namespace

Result<FormatChoice> choose_format(std::string_view first_line) {
  FormatChoice choice;
  if (first_line.substr(0, kTaktTraceBeginning.size()) == kTaktTraceBeginning) {
    auto parser = make_takt_parser(first_line);
    if (!parser) return parser.error();
    return FormatChoice{std::move(*parser), true, true};
  }
  if (first_line.front() == '{') {
    JsonMemory memory;
    const auto fields = memory.parse(first_line);
    if (fields && (*fields)->contains("input_length")) return FormatChoice{make_mooncake_parser(), false, false};
    return Error::invalid("", "no known format of a trace begins so: " + std::string(first_line.substr(0, 80)));
  }
  auto parser = make_csv_parser(first_line);
  if (!parser) return parser.error();
  return FormatChoice{std::move(*parser), true, false};
}

Result<std::unique_ptr<Reader>> open_trace(const std::string& path, const ReadOptions& options) {
  std::error_code failure;
  if (fs::is_directory(path, failure)) return open_folder(path, options);
  auto reader = FileReader::open(path, options);
  if (!reader) return reader.error();
  return std::unique_ptr<Reader>(std::move(*reader));
}

}  // namespace takt::trace
