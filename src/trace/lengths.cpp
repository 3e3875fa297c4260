#include "trace/lengths.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "trace/draws.h"
#include "trace/mix.h"
#include "trace/number_text.h"

namespace takt::trace {
namespace {

constexpr std::uint32_t kMostTokens = 100'000'000;

Error length_error(std::string_view text) {
  return Error::invalid("lengths", "\"" + std::string(text.substr(0, 80)) +
                                       "\" is no distribution of lengths: N, uniform:LOW-HIGH or "
                                       "lognormal:MEDIAN,SIGMA[,min=N][,max=N], from 1 to 100000000 tokens");
}

std::optional<std::uint32_t> token_count(std::string_view text) {
  const auto count = parse_count(text);
  return count && *count >= 1 && *count <= kMostTokens ? count : std::nullopt;
}

std::optional<double> positive_number(std::string_view text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) || value < 0.0)
    return std::nullopt;
  return value;
}

std::string_view take_part(std::string_view& text) {
  const std::size_t comma = text.find(',');
  const std::string_view part = text.substr(0, comma);
  text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  return part;
}

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (text.substr(0, prefix.size()) != prefix) return false;
  text.remove_prefix(prefix.size());
  return true;
}

class IndependentLengths final : public LengthSource {
 public:
  IndependentLengths(const LengthDistribution& prompt, const LengthDistribution& output, std::uint64_t seed)
      : prompt_(prompt), output_(output), prompt_key_(mix(seed, 1)), output_key_(mix(seed, 2)) {}
  Lengths draw(std::uint64_t index) const override {
    return {prompt_.draw(prompt_key_, index), output_.draw(output_key_, index)};
  }
  Lengths longest() const override { return {prompt_.most(), output_.most()}; }

 private:
  const LengthDistribution prompt_;
  const LengthDistribution output_;
  const std::uint64_t prompt_key_;
  const std::uint64_t output_key_;
};

std::size_t draw_index(std::uint64_t key, std::uint64_t index, std::size_t size) {
  const auto drawn = static_cast<std::size_t>(draw_uniform(key, index) * static_cast<double>(size));
  return std::min(drawn, size - 1);
}

class TraceLengths final : public LengthSource {
 public:
  TraceLengths(std::vector<Lengths> rows, std::uint64_t seed) : rows_(std::move(rows)), seed_(seed) {}
  Lengths draw(std::uint64_t index) const override { return rows_[draw_index(seed_, index, rows_.size())]; }
  Lengths longest() const override {
    Lengths longest;
    for (const Lengths& row : rows_) {
      longest.prompt_tokens = std::max(longest.prompt_tokens, row.prompt_tokens);
      longest.output_tokens = std::max(longest.output_tokens, row.output_tokens);
    }
    return longest;
  }

 private:
  const std::vector<Lengths> rows_;
  const std::uint64_t seed_;
};

}  // namespace

Result<LengthDistribution> LengthDistribution::parse(std::string_view text) {
  LengthDistribution lengths;
  std::string_view rest = text;
  if (take_prefix(rest, "uniform:")) {
    const std::size_t dash = rest.find('-');
    if (dash == std::string_view::npos) return length_error(text);
    const auto low = token_count(rest.substr(0, dash));
    const auto high = token_count(rest.substr(dash + 1));
    if (!low || !high || *low > *high) return length_error(text);
    lengths.low_ = *low;
    lengths.high_ = *high;
    return lengths;
  }
  if (take_prefix(rest, "lognormal:")) {
    const auto median = positive_number(take_part(rest));
    const auto sigma = positive_number(take_part(rest));
    if (!median || *median < 1.0 || !sigma) return length_error(text);
    lengths.log_median_ = std::log(*median);
    lengths.sigma_ = *sigma;
    lengths.high_ = kMostTokens;
    while (!rest.empty()) {
      std::string_view part = take_part(rest);
      std::uint32_t& bound = take_prefix(part, "min=") ? lengths.low_ : lengths.high_;
      if (&bound == &lengths.high_ && !take_prefix(part, "max=")) return length_error(text);
      const auto value = token_count(part);
      if (!value) return length_error(text);
      bound = *value;
    }
    if (lengths.low_ > lengths.high_) return length_error(text);
    return lengths;
  }
  const auto fixed = token_count(text);
  if (!fixed) return length_error(text);
  lengths.low_ = *fixed;
  lengths.high_ = *fixed;
  return lengths;
}

bool LengthDistribution::has_longest() const {
  return high_ < kMostTokens;
}

std::uint32_t LengthDistribution::draw(std::uint64_t key, std::uint64_t index) const {
  if (sigma_ < 0.0) return low_ + static_cast<std::uint32_t>(draw_index(key, index, std::size_t{high_} - low_ + 1));
  const double length = std::exp(log_median_ + sigma_ * draw_normal(key, index));
  return static_cast<std::uint32_t>(
      std::llround(std::clamp(length, static_cast<double>(low_), static_cast<double>(high_))));
}

std::unique_ptr<LengthSource> independent_lengths(const LengthDistribution& prompt, const LengthDistribution& output,
                                                  std::uint64_t seed) {
  return std::make_unique<IndependentLengths>(prompt, output, seed);
}

Result<std::unique_ptr<LengthSource>> lengths_of(Reader& trace, std::uint64_t seed, std::size_t most) {
  constexpr std::uint64_t kReservoirDraws = 3;
  std::vector<Lengths> rows;
  std::uint64_t seen = 0;
  for (;;) {
    auto record = trace.next();
    if (!record) return record.error();
    if (!*record) break;
    const Lengths lengths{(*record)->prompt_tokens, (*record)->output_tokens};
    if (lengths.prompt_tokens == 0 || lengths.output_tokens == 0) continue;
    ++seen;
    if (rows.size() < most) {
      rows.push_back(lengths);
    } else if (const std::size_t place = draw_index(mix(seed, kReservoirDraws), seen, seen); place < most) {
      rows[place] = lengths;
    }
  }
  if (rows.empty())
    return Error::invalid("lengths", trace.origin().file + " has no request with a prompt and an answer");
  return std::unique_ptr<LengthSource>(std::make_unique<TraceLengths>(std::move(rows), seed));
}

}  // namespace takt::trace
