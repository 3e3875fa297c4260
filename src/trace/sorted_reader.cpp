#include "trace/sorted_reader.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace takt::trace {
namespace {

struct HeldRecord {
  std::uint64_t place;  // in the file
  Record record;
};

// For a heap whose first is the earliest.
bool arrives_later(const HeldRecord& a, const HeldRecord& b) {
  return std::pair(a.record.arrival, a.place) > std::pair(b.record.arrival, b.place);
}

class SortedReader final : public Reader {
 public:
  SortedReader(std::unique_ptr<Reader> reader, OnMalformed when_too_late, std::size_t window)
      : reader_(std::move(reader)), when_too_late_(when_too_late), window_(window) {
    if (const Status filled = fill(); !filled) failure_ = filled.error();
    origin_ = reader_->origin();
    if (held_.empty() || held_.front().record.arrival >= Duration(0)) return;
    // Instants count from a file's first row, which need not be the earliest.
    shift_ = -held_.front().record.arrival;
    if (origin_.wall_nanoseconds) *origin_.wall_nanoseconds -= shift_.count();
  }

  Result<std::optional<Record>> next() override {
    if (failure_) return *failure_;
    if (const Status filled = fill(); !filled) return filled.error();
    update_counts();
    if (held_.empty()) return std::optional<Record>{};
    std::pop_heap(held_.begin(), held_.end(), arrives_later);
    Record record = std::move(held_.back().record);
    const std::uint64_t place = held_.back().place;
    held_.pop_back();
    if (last_ && record.arrival < *last_) {
      if (when_too_late_ == OnMalformed::kRefuse)
        return Error::invalid("arrival", origin().file + ": request " + std::to_string(place + 1) + " arrived before " +
                                             std::to_string(window_) + " requests that stand before it: sort the file");
      record.arrival = *last_;
      ++out_of_order_;
    }
    last_ = record.arrival;
    ++given_;
    update_counts();
    record.arrival += shift_;
    return std::optional(std::move(record));
  }

  const Origin& origin() const override { return origin_; }
  const ReadCounts& counts() const override { return counts_; }

 private:
  Status fill() {
    while (!at_end_ && held_.size() <= window_) {
      auto record = reader_->next();
      if (!record) return record.error();
      at_end_ = !record->has_value();
      if (at_end_) break;
      held_.push_back({places_++, std::move(**record)});
      std::push_heap(held_.begin(), held_.end(), arrives_later);
    }
    return {};
  }

  void update_counts() {
    counts_ = reader_->counts();
    counts_.out_of_order = out_of_order_;
    counts_.rows -= counts_.records - given_;
    counts_.records = given_;
  }

  const std::unique_ptr<Reader> reader_;
  const OnMalformed when_too_late_;
  const std::size_t window_;
  Origin origin_;
  Duration shift_{0};
  std::optional<Error> failure_;  // of the first reading
  std::vector<HeldRecord> held_;
  std::uint64_t places_ = 0;
  bool at_end_ = false;
  std::optional<Duration> last_;
  std::uint64_t given_ = 0;
  std::uint64_t out_of_order_ = 0;
  ReadCounts counts_;
};

}  // namespace

std::unique_ptr<Reader> sorted_by_arrival(std::unique_ptr<Reader> reader, OnMalformed when_too_late,
                                          std::size_t window) {
  return std::make_unique<SortedReader>(std::move(reader), when_too_late, window);
}

}  // namespace takt::trace
