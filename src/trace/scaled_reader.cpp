#include "trace/scaled_reader.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "trace/draws.h"
#include "trace/mix.h"

namespace takt::trace {
namespace {

class ScaledReader final : public Reader {
 public:
  ScaledReader(std::unique_ptr<Reader> reader, const ScaleOptions& options)
      : reader_(std::move(reader)), options_(options) {}

  Result<std::optional<Record>> next() override {
    while (next_copy_ == copies_.size()) {
      if (const Status advanced = advance(); !advanced) return advanced.error();
      if (!original_) return std::optional<Record>{};
      draw_copies();
    }
    return std::optional(make_copy(copies_[next_copy_++]));
  }

  const Origin& origin() const override { return reader_->origin(); }
  const ReadCounts& counts() const override { return reader_->counts(); }

 private:
  struct Copy {
    Duration arrival;  // on the trace's time line
    std::uint32_t number;
  };

  // The next request, with the one behind it.
  Status advance() {
    if (!started_) {
      auto first = reader_->next();
      if (!first) return first.error();
      following_ = std::move(*first);
      if (following_) start_ = following_->arrival;
      started_ = true;
    }
    original_ = std::move(following_);
    following_.reset();
    if (!original_) return {};
    auto record = reader_->next();
    if (!record) return record.error();
    following_ = std::move(*record);
    return {};
  }

  void draw_copies() {
    const std::uint64_t unit =
        original_->session.empty() ? mix(1, place_) : hash_text(original_->session) ^ hash_text(original_->tenant);
    const double whole = std::floor(options_.scale);
    const bool one_more = draw_uniform(options_.seed, unit) < options_.scale - whole;
    const auto count = static_cast<std::uint32_t>(whole) + (one_more ? 1 : 0);
    const Duration gap = following_ ? following_->arrival - original_->arrival : Duration(0);
    copies_.clear();
    next_copy_ = 0;
    for (std::uint32_t number = 0; number < count; ++number) {
      const double share = number == 0 ? 0.0 : draw_uniform(mix(options_.seed, number), place_);
      copies_.push_back({original_->arrival + from_seconds(to_seconds(gap) * share), number});
    }
    std::sort(copies_.begin(), copies_.end(), [](const Copy& a, const Copy& b) { return a.arrival < b.arrival; });
    ++place_;
  }

  Record make_copy(const Copy& copy) const {
    Record record = *original_;
    const auto sooner = [&](Duration time) { return from_seconds(to_seconds(time) / options_.speed); };
    record.arrival = sooner(copy.arrival - start_);
    if (record.think_time) record.think_time = sooner(*record.think_time);
    if (record.timings.cancelled) record.timings.cancelled = sooner(*record.timings.cancelled);
    if (copy.number == 0) return record;
    if (!record.session.empty()) record.session += "~" + std::to_string(copy.number);
    if (record.request != 0) record.request = mix(record.request, copy.number);
    if (record.parent) record.parent = mix(*record.parent, copy.number);
    for (std::uint64_t& hash : record.blocks.hashes) hash = mix(hash, copy.number);
    return record;
  }

  const std::unique_ptr<Reader> reader_;
  const ScaleOptions options_;
  bool started_ = false;
  Duration start_{0};
  std::optional<Record> original_;
  std::optional<Record> following_;
  std::uint64_t place_ = 0;
  std::vector<Copy> copies_;  // of the original, in order
  std::size_t next_copy_ = 0;
};

Status check_factor(const char* name, double value) {
  if (value > 0.0 && value <= kMostScale) return {};
  return Error::invalid(name, std::string(name) + " must be above 0 and at most 1000");
}

}  // namespace

Result<std::unique_ptr<Reader>> scaled(std::unique_ptr<Reader> reader, const ScaleOptions& options) {
  if (const Status sound = check_factor("speed", options.speed); !sound) return sound.error();
  if (const Status sound = check_factor("scale", options.scale); !sound) return sound.error();
  return std::unique_ptr<Reader>(std::make_unique<ScaledReader>(std::move(reader), options));
}

}  // namespace takt::trace
