// Elementary functions of our own: libm's differ between versions, these never do. The F32 ones equal the kernels'
// lanes bit for bit.
#pragma once

namespace takt {

// Errors as stated in math_kernels.h.
float exp_f32(float x);
float log_f32(float x);
float tanh_f32(float x);

// Relative error below 4e-16 for results that are normal numbers. exp: 0 below -708, infinity above 709.
double exp_f64(double x);
// For finite x > 0 and normal.
double log_f64(double x);

struct SinCos {
  double sin = 0.0;
  double cos = 1.0;
};
// Absolute error below 1e-15 for |x| <= 2^24, more than any position of a context; for larger, or no number, both are
// NaN.
SinCos sin_cos_f64(double x);

}  // namespace takt
