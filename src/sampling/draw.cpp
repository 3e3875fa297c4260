#include "sampling/draw.h"

#include <algorithm>
#include <array>

namespace takt {
namespace {

constexpr std::size_t kBlock = 256;
constexpr std::size_t kChains = 4;  // additions under way at once

double sum(std::span<const float> weights) {
  std::array<double, kChains> chains{};
  std::size_t i = 0;
  for (; i + kChains <= weights.size(); i += kChains) {
    for (std::size_t k = 0; k < kChains; ++k) chains[k] += static_cast<double>(weights[i + k]);
  }
  for (; i < weights.size(); ++i) chains[0] += static_cast<double>(weights[i]);
  return (chains[0] + chains[1]) + (chains[2] + chains[3]);
}

}  // namespace

std::size_t draw(std::span<const float> weights, double uniform) {
  const auto block = [&](std::size_t begin) {
    return weights.subspan(begin, std::min(kBlock, weights.size() - begin));
  };
  double total = 0.0;
  for (std::size_t begin = 0; begin < weights.size(); begin += kBlock) total += sum(block(begin));

  // The block in which the target lies; the last one with any weight when rounding leaves the target above every sum.
  const double target = uniform * total;
  std::size_t chosen = 0;
  double before_chosen = 0.0;
  double passed = 0.0;
  for (std::size_t begin = 0; begin < weights.size() && passed <= target; begin += kBlock) {
    const double weight = sum(block(begin));
    if (weight > 0.0) {
      chosen = begin;
      before_chosen = passed;
    }
    passed += weight;
  }

  const std::span<const float> candidates = block(chosen);
  std::size_t last = 0;
  double inside = before_chosen;
  for (std::size_t i = 0; i < candidates.size() && inside <= target; ++i) {
    if (candidates[i] > 0.0F) {
      last = i;
      inside += static_cast<double>(candidates[i]);
    }
  }
  return chosen + last;
}

}  // namespace takt
