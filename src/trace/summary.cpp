#include "trace/summary.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace takt::trace {
namespace {

constexpr std::size_t kMostNames = 64;

void count_name(Summary::Names& names, const std::string& name) {
  const std::string shown = name.empty() ? "-" : name;
  const bool known = names.contains(shown) || names.size() < kMostNames;
  ++names[known ? shown : "other"];
}

}  // namespace

void CountedNumbers::add(std::uint32_t number) {
  constexpr int kExactBits = 12;
  const int bits = std::bit_width(number);
  const int dropped = bits > kExactBits ? bits - kExactBits : 0;
  ++numbers_[number >> dropped << dropped];
  ++count_;
  sum_ += number;
}

double CountedNumbers::percentile(double share) const {
  if (count_ == 0) return 0.0;
  const double place = share * static_cast<double>(count_ - 1);
  const auto below = static_cast<std::uint64_t>(place);
  std::uint64_t seen = 0;
  for (auto number = numbers_.begin(); number != numbers_.end(); ++number) {
    seen += number->second;
    if (seen <= below) continue;
    const auto next = std::next(number);
    const bool between = seen == below + 1 && next != numbers_.end();
    const double upper = between ? next->first : number->first;
    return number->first + (place - static_cast<double>(below)) * (upper - number->first);
  }
  return numbers_.rbegin()->first;
}

void Summary::add(const Record& record) {
  add_arrival(record.arrival);
  prompt_.add(record.prompt_tokens);
  output_.add(record.output_tokens);
  add_blocks(record);
  count_name(classes_, record.service_class);
  count_name(applications_, record.application);
  count_name(outcomes_, to_string(record.outcome));
  if (!record.session.empty()) ++with_session_;
}

void Summary::add_arrival(Duration arrival) {
  if (records() == 0) {
    first_ = arrival;
  } else {
    const double gap = to_seconds(arrival - last_);
    ++gaps_;
    gap_sum_ += gap;
    gap_squares_ += gap * gap;
  }
  last_ = std::max(records() == 0 ? arrival : last_, arrival);
  const auto second = static_cast<std::int64_t>(std::floor(to_seconds(arrival - first_)));
  if (second != second_) {
    second_squares_ += static_cast<double>(in_second_) * static_cast<double>(in_second_);
    in_second_ = 0;
    second_ = second;
  }
  ++in_second_;
}

void Summary::add_blocks(const Record& record) {
  constexpr std::size_t kMostBlocks = 20'000'000;
  const PromptBlocks& blocks = record.blocks;
  has_blocks_ = has_blocks_ || blocks.block_tokens > 0;
  bool found = true;
  for (std::size_t i = 0; i < blocks.hashes.size(); ++i) {
    const std::uint64_t hash = blocks.hashes[i];
    found = found && blocks_.contains(hash);
    const std::uint64_t begin = std::uint64_t{i} * blocks.block_tokens;
    if (found)
      reusable_ += static_cast<double>(std::min<std::uint64_t>(blocks.block_tokens, record.prompt_tokens - begin));
    if (blocks_.size() < kMostBlocks) {
      blocks_.insert(hash);
    } else {
      blocks_full_ = true;
    }
  }
}

double Summary::requests_per_second() const {
  const double seconds = to_seconds(span());
  return seconds > 0.0 ? static_cast<double>(records()) / seconds : 0.0;
}

std::optional<double> Summary::gap_variation() const {
  if (gaps_ < 2 || gap_sum_ <= 0.0) return std::nullopt;
  const double mean = gap_sum_ / static_cast<double>(gaps_);
  const double variance = std::max(0.0, gap_squares_ / static_cast<double>(gaps_) - mean * mean);
  return std::sqrt(variance) / mean;
}

std::optional<double> Summary::dispersion() const {
  const double seconds = std::floor(to_seconds(span())) + 1.0;
  if (seconds < 2.0 || records() == 0) return std::nullopt;
  const double mean = static_cast<double>(records()) / seconds;
  const double squares = second_squares_ + static_cast<double>(in_second_) * static_cast<double>(in_second_);
  return (squares / seconds - mean * mean) / mean;
}

std::optional<double> Summary::reusable_share() const {
  const double tokens = prompt_.mean() * static_cast<double>(prompt_.count());
  if (!has_blocks_ || tokens <= 0.0) return std::nullopt;
  return reusable_ / tokens;
}

}  // namespace takt::trace
