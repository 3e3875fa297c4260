#include "load/prompt_text.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "load/common_words.h"

namespace takt::load {
namespace {

constexpr std::size_t kEnoughPieces = 24;
constexpr std::string_view kAnchor = "and";  // what is counted stands behind other text, as it will
constexpr std::array<std::uint32_t, 3> kCheckedLengths{40, 170, 700};

std::uint64_t stir(std::uint64_t value) {
  // The finaliser of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
  value = (value ^ (value >> 30U)) * 0xBF58476D1CE4E5B9U;
  value = (value ^ (value >> 27U)) * 0x94D049BB133111EBU;
  return value ^ (value >> 31U);
}

std::string text_of(std::vector<std::string>::const_iterator from, std::vector<std::string>::const_iterator to) {
  std::string text(kAnchor);
  for (; from != to; ++from) text += *from;
  return text;
}

// Halves a range until each part is all single tokens or one piece that is none.
class SingleTokens {
 public:
  SingleTokens(const CountTokens& count, std::uint32_t anchor) : count_(count), anchor_(anchor) {}

  Status search(const std::vector<std::string>& pieces) {
    std::vector<std::pair<std::size_t, std::size_t>> open{{0, pieces.size()}};
    while (!open.empty()) {
      const auto [from, to] = open.back();
      open.pop_back();
      const auto begin = pieces.begin();
      auto tokens = count_(text_of(begin + static_cast<std::ptrdiff_t>(from), begin + static_cast<std::ptrdiff_t>(to)));
      if (!tokens) return tokens.error();
      if (*tokens == anchor_ + (to - from)) {
        found.insert(found.end(), begin + static_cast<std::ptrdiff_t>(from), begin + static_cast<std::ptrdiff_t>(to));
      } else if (to - from > 1) {
        open.emplace_back(from, from + (to - from) / 2);
        open.emplace_back(from + (to - from) / 2, to);
      }
    }
    return {};
  }

  std::vector<std::string> found;

 private:
  const CountTokens& count_;
  std::uint32_t anchor_;
};

std::vector<std::string> spaced_words() {
  std::vector<std::string> words;
  for (const auto word : kCommonWords) words.push_back(" " + std::string(word));
  return words;
}

std::vector<std::string> letters() {
  std::vector<std::string> all;
  for (char letter = 'a'; letter <= 'z'; ++letter) all.emplace_back(1, letter);
  return all;
}

// Whether texts of the palette have as many tokens as they should, but for a constant.
Result<bool> is_additive(const Palette& palette, const CountTokens& count) {
  const PromptWriter writer(palette);
  std::optional<std::int64_t> excess;
  for (const auto length : kCheckedLengths) {
    auto tokens = count(std::string(kAnchor) + writer.write(length, length));
    if (!tokens) return tokens.error();
    const std::int64_t own = static_cast<std::int64_t>(*tokens) - length;
    if (excess && *excess != own) return false;
    excess = own;
  }
  return true;
}

}  // namespace

Result<Palette> find_palette(const CountTokens& count, std::string source) {
  auto anchor = count(kAnchor);
  if (!anchor) return anchor.error();
  for (const auto& candidates : {spaced_words(), letters()}) {
    SingleTokens singles(count, *anchor);
    if (const auto status = singles.search(candidates); !status) return status.error();
    if (singles.found.size() < std::min(kEnoughPieces, candidates.size())) continue;
    Palette palette{std::move(singles.found), 1.0, true, source};
    const auto additive = is_additive(palette, count);
    if (!additive) return additive.error();
    if (*additive) return palette;
  }
  const auto words = spaced_words();
  auto tokens = count(text_of(words.begin(), words.end()));
  if (!tokens) return tokens.error();
  return estimated_palette(static_cast<double>(*tokens - *anchor) / static_cast<double>(words.size()),
                           std::move(source));
}

Palette estimated_palette(double tokens_per_word, std::string source) {
  return {spaced_words(), std::max(tokens_per_word, 0.1), false, std::move(source)};
}

void PromptWriter::append(std::string& text, std::uint64_t seed, std::uint32_t tokens) const {
  const auto pieces = static_cast<std::uint64_t>(std::max(1.0, std::round(tokens / palette_.tokens_per_piece)));
  std::uint64_t state = stir(seed ^ salt_);
  for (std::uint64_t i = 0; i < pieces; ++i) {
    state += 0x9E3779B97F4A7C15U;
    text += palette_.pieces[stir(state) % palette_.pieces.size()];
  }
}

std::string PromptWriter::write(std::uint64_t seed, std::uint32_t tokens) const {
  std::string text;
  append(text, seed, tokens);
  return text;
}

std::string PromptWriter::write(const PlannedRequest& request, std::uint32_t overhead) const {
  if (request.text) return *request.text;
  std::uint32_t left = request.prompt_tokens > overhead ? request.prompt_tokens - overhead : 1;
  std::string text;
  for (const auto hash : request.hashes) {
    const std::uint32_t tokens = std::min(left, request.block_tokens);
    if (tokens == 0) break;
    append(text, hash, tokens);
    left -= tokens;
  }
  if (left > 0) append(text, request.text_seed, left);
  return text;
}

}  // namespace takt::load
