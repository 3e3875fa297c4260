// How long prompts and answers are: distributions whose n-th draw is a function of the seed and n.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "trace/reader.h"

namespace takt::trace {

struct Lengths {
  std::uint32_t prompt_tokens = 0;
  std::uint32_t output_tokens = 0;
  bool operator==(const Lengths&) const = default;
};

class LengthSource {
 public:
  virtual ~LengthSource() = default;
  virtual Lengths draw(std::uint64_t index) const = 0;
  // The longest prompt and the longest answer, which need not be of one pair.
  virtual Lengths longest() const = 0;
};

// One length. Written as `512`, `uniform:100-2000` (both ends possible), or `lognormal:MEDIAN,SIGMA` with, as they are
// wanted, `,min=N` and `,max=N`: what is drawn beyond a bound is the bound.
class LengthDistribution {
 public:
  // Errors: kInvalidArgument, field "lengths".
  static Result<LengthDistribution> parse(std::string_view text);
  std::uint32_t draw(std::uint64_t key, std::uint64_t index) const;
  std::uint32_t least() const { return low_; }
  std::uint32_t most() const { return high_; }
  // Somebody has said which length is the longest.
  bool has_longest() const;

 private:
  std::uint32_t low_ = 1;
  std::uint32_t high_ = 1;
  double log_median_ = 0.0;
  double sigma_ = -1.0;  // below 0: uniform
};

// Both lengths by distributions of their own.
std::unique_ptr<LengthSource> independent_lengths(const LengthDistribution& prompt, const LengthDistribution& output,
                                                  std::uint64_t seed);

// Pairs of a trace, drawn with replacement, so that the two lengths belong together as they did there; records without
// a prompt or an answer are none. Keeps at most `most` of them, each row as likely as any other (reservoir sampling:
// Vitter, ACM TOMS 11, 1985). Errors: those of the reader; kInvalidArgument: it has no rows.
Result<std::unique_ptr<LengthSource>> lengths_of(Reader& trace, std::uint64_t seed, std::size_t most = 1'000'000);

}  // namespace takt::trace
