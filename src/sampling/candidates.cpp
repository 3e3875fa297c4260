#include "sampling/candidates.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/math.h"

namespace takt {
namespace {

constexpr float kNoLogit = -std::numeric_limits<float>::infinity();
constexpr std::size_t kHeapMost = 4096;   // above, partial sorting of everything is cheaper than a heap
constexpr std::size_t kFirstChunk = 128;  // candidates put in order at first by a filter that stops early
constexpr double kThresholdSlack = 1e-2;  // covers the rounding of F32 sums, so that a threshold never cuts too much

// What probabilities are relative to: p = exp(logit - most) / total.
struct Normalizer {
  float most = 0.0F;
  double total = 0.0;

  double probability(float logit) const { return static_cast<double>(exp_f32(logit - most)) / total; }
};

// In the order of the list, which the caller has made a fixed one.
double total_of(std::span<const Candidate> list, float most) {
  double total = 0.0;
  for (const Candidate& c : list) total += static_cast<double>(exp_f32(c.logit - most));
  return total;
}

void gather(std::span<const float> logits, float lowest, std::vector<Candidate>& out) {
  out.clear();
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] >= lowest && logits[i] > kNoLogit) out.push_back({logits[i], static_cast<TokenId>(i), 0.0F});
  }
}

// Walks the list in the order of `less` until `done` is true of a candidate, keeps those walked. Only as much is sorted
// as is needed.
template <typename Less, typename Done>
void keep_until(std::vector<Candidate>& list, Less less, Done done) {
  std::size_t begin = 0;
  for (std::size_t chunk = kFirstChunk; begin < list.size(); chunk *= 4) {
    const std::size_t end = std::min(list.size(), begin + chunk);
    const auto at = [&](std::size_t i) { return list.begin() + static_cast<std::ptrdiff_t>(i); };
    if (end < list.size()) std::nth_element(at(begin), at(end), list.end(), less);
    std::sort(at(begin), at(end), less);
    for (std::size_t i = begin; i < end; ++i) {
      if (done(list[i])) return list.resize(i + 1);
    }
    begin = end;
  }
}

// Meister et al., "Locally Typical Sampling", section 4: the tokens whose surprise is nearest to the entropy, up to a
// mass of p.
void keep_typical(std::vector<Candidate>& list, double p, const Normalizer& all) {
  const double log_total = log_f64(all.total);
  const auto surprise = [&](const Candidate& c) { return log_total - static_cast<double>(c.logit - all.most); };
  double entropy = 0.0;
  for (const Candidate& c : list) entropy += all.probability(c.logit) * surprise(c);
  for (Candidate& c : list) c.rank = static_cast<float>(std::fabs(surprise(c) - entropy));
  double mass = 0.0;
  keep_until(
      list, [](const Candidate& a, const Candidate& b) { return a.rank != b.rank ? a.rank < b.rank : better(a, b); },
      [&](const Candidate& c) { return (mass += all.probability(c.logit)) > p; });
}

// Holtzman et al., "The Curious Case of Neural Text Degeneration", section 3.1: the most probable tokens up to a mass
// of p.
void keep_nucleus(std::vector<Candidate>& list, double p, const Normalizer& all) {
  double mass = 0.0;
  keep_until(list, better, [&](const Candidate& c) { return (mass += all.probability(c.logit)) >= p; });
}

// Nguyen et al., "Turning Up the Heat: Min-p Sampling": tokens at least min_p times as probable as the best.
void keep_above(std::vector<Candidate>& list, float min_p) {
  const auto best = std::min_element(list.begin(), list.end(), better);
  const float lowest = best->logit + log_f32(min_p);
  std::erase_if(list, [&](const Candidate& c) { return c.logit < lowest; });
}

// A logit below which no token can pass, where that is known without sorting. Tokens less probable than (1 - top_p) / n
// have together less mass than 1 - top_p, so all of the nucleus lies above.
float threshold(const SamplingParams& params, std::size_t vocabulary, const Normalizer& all) {
  double lowest = -std::numeric_limits<double>::infinity();
  if (params.typical_p >= 1.0F) {
    if (params.top_p < 1.0F) {
      const double rest = (1.0 - static_cast<double>(params.top_p)) / static_cast<double>(vocabulary);
      lowest = static_cast<double>(all.most) + log_f64(all.total) + log_f64(rest);
    }
    if (params.min_p > 0.0F) {
      lowest = std::max(lowest, static_cast<double>(all.most) + static_cast<double>(log_f32(params.min_p)));
    }
  }
  return static_cast<float>(std::min(lowest - kThresholdSlack, static_cast<double>(all.most)));
}

}  // namespace

bool better(const Candidate& a, const Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
}

void select_best(std::span<const float> logits, std::size_t count, std::vector<Candidate>& out) {
  if (count > kHeapMost) {
    gather(logits, kNoLogit, out);
    if (out.size() > count) {
      std::nth_element(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(count), out.end(), better);
      out.resize(count);
    }
  } else {
    out.clear();
    float worst = kNoLogit;  // of a full heap: with ids ascending, an equal logit is worse
    for (std::size_t i = 0; i < logits.size(); ++i) {
      if (!(logits[i] > worst)) continue;
      if (out.size() == count) {
        if (count == 0) return;
        std::pop_heap(out.begin(), out.end(), better);
        out.pop_back();
      }
      out.push_back({logits[i], static_cast<TokenId>(i), 0.0F});
      std::push_heap(out.begin(), out.end(), better);
      if (out.size() == count) worst = out.front().logit;
    }
  }
  std::sort(out.begin(), out.end(), better);
}

bool passes_all(const SamplingParams& params) {
  return params.top_k <= 0 && params.typical_p >= 1.0F && params.top_p >= 1.0F && params.min_p <= 0.0F;
}

void filter(std::span<const float> logits, const SamplingParams& params, const KernelTable& kernels,
            std::vector<Candidate>& out) {
  Normalizer all;
  all.most = kernels.max(logits.data(), logits.size());
  const bool best_only = params.top_k > 0 && static_cast<std::size_t>(params.top_k) < logits.size();
  if (best_only) {
    select_best(logits, static_cast<std::size_t>(params.top_k), out);
    all.total = total_of(out, all.most);
  } else {
    all.total = static_cast<double>(kernels.exp_sum(logits.data(), logits.size(), all.most, nullptr));
    gather(logits, threshold(params, logits.size(), all), out);
  }
  if (params.typical_p < 1.0F) {
    keep_typical(out, static_cast<double>(params.typical_p), all);
    all.total = total_of(out, all.most);
  }
  if (params.top_p < 1.0F) keep_nucleus(out, static_cast<double>(params.top_p), all);
  if (params.min_p > 0.0F) keep_above(out, params.min_p);
}

}  // namespace takt
