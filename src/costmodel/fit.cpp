#include "costmodel/fit.h"

#include <array>
#include <cmath>
#include <limits>

namespace takt {

namespace {

constexpr int kTerms = 3;
using Vector = std::array<double, kTerms>;
using Matrix = std::array<Vector, kTerms>;

// Normal equations of the relative error: rows x / t against 1.
struct NormalEquations {
  Matrix a{};
  Vector b{};
  double count = 0;

  void add(const StepSample& sample) {
    const double t = to_seconds(sample.measured);
    const Vector x = {1.0 / t, sample.features.tokens / t, static_cast<double>(sample.features.attended_positions) / t};
    for (int i = 0; i < kTerms; ++i) {
      for (int j = 0; j < kTerms; ++j) a[i][j] += x[i] * x[j];
      b[i] += x[i];
    }
    count += 1;
  }

  double squared_error(const Vector& w) const {
    double error = count;
    for (int i = 0; i < kTerms; ++i) {
      error -= 2 * w[i] * b[i];
      for (int j = 0; j < kTerms; ++j) error += w[i] * a[i][j] * w[j];
    }
    return error;
  }
};

// Gaussian elimination on the terms in `subset`; false when they cannot be told apart.
bool solve_subset(const NormalEquations& equations, int subset, Vector& w) {
  std::array<int, kTerms> terms{};
  int n = 0;
  for (int i = 0; i < kTerms; ++i) {
    if ((subset >> i) & 1) terms[n++] = i;
  }
  // Columns are scaled by their diagonal: the terms differ by many orders of magnitude.
  std::array<std::array<double, kTerms + 1>, kTerms> m{};
  Vector scale{};
  for (int i = 0; i < n; ++i) {
    const double diagonal = equations.a[terms[i]][terms[i]];
    if (!(diagonal > 0)) return false;
    scale[i] = 1.0 / std::sqrt(diagonal);
  }
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) m[i][j] = equations.a[terms[i]][terms[j]] * scale[i] * scale[j];
    m[i][n] = equations.b[terms[i]] * scale[i];
  }
  for (int i = 0; i < n; ++i) {
    // A symmetric positive definite system needs no pivoting; a tiny pivot means that two terms are proportional in the
    // samples.
    if (m[i][i] < 1e-9) return false;
    for (int r = i + 1; r < n; ++r) {
      const double factor = m[r][i] / m[i][i];
      for (int c = i; c <= n; ++c) m[r][c] -= factor * m[i][c];
    }
  }
  w = {};
  for (int i = n - 1; i >= 0; --i) {
    double value = m[i][n];
    for (int j = i + 1; j < n; ++j) value -= m[i][j] * (w[terms[j]] / scale[j]);
    w[terms[i]] = value / m[i][i] * scale[i];
    if (!std::isfinite(w[terms[i]]) || w[terms[i]] < 0) return false;
  }
  return true;
}

}  // namespace

StepTimeTerms fit_step_time(std::span<const StepSample> samples) {
  NormalEquations equations;
  for (const StepSample& sample : samples) {
    if (sample.measured > Duration::zero()) equations.add(sample);
  }
  Vector best{};
  double best_error = std::numeric_limits<double>::infinity();
  for (int subset = 1; subset < (1 << kTerms); ++subset) {
    Vector w{};
    if (!solve_subset(equations, subset, w)) continue;
    const double error = equations.squared_error(w);
    if (error < best_error) {
      best_error = error;
      best = w;
    }
  }
  return {best[0], best[1], best[2], 0.0};
}

}  // namespace takt
