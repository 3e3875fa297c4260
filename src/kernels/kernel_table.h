// The functions of one instruction set. All tables compute the same values, bit for bit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/attention_segment.h"
#include "kernels/row_kernels.h"
#include "kernels/stripe_layout.h"

namespace takt {

enum class Isa;  // isa.h; the units of the instruction sets include as little as possible

struct KernelTable {
  void (*stripe_q4_0)(const StripeProduct&);
  void (*stripe_q4_1)(const StripeProduct&);
  void (*stripe_q5_0)(const StripeProduct&);
  void (*stripe_q5_1)(const StripeProduct&);
  void (*stripe_q8_0)(const StripeProduct&);
  void (*stripe_iq4_nl)(const StripeProduct&);
  void (*stripe_q4_k)(const StripeProduct&);
  void (*stripe_q5_k)(const StripeProduct&);
  void (*stripe_q6_k)(const StripeProduct&);
  void (*stripe_iq4_xs)(const StripeProduct&);
  void (*tile_f32)(const TileProduct&);
  void (*widen_half)(const std::uint16_t* in, float* out, std::size_t n);
  void (*widen_bfloat)(const std::uint16_t* in, float* out, std::size_t n);

  void (*quantise_32)(const float* x, std::size_t n, const QuantisedRowOut& out);
  void (*rms_norm)(const float* x, const float* weight, float* out, std::size_t n, float epsilon);
  void (*silu_multiply)(float* gate, const float* up, std::size_t n);
  void (*add)(float* x, const float* y, std::size_t n);
  void (*rope_adjacent)(const RopeRow& row);
  void (*rope_halves)(const RopeRow& row);
  float (*max)(const float* x, std::size_t n);
  void (*lane_maxima)(const float* lanes, std::size_t rows, float* maxima);
  float (*exp_sum)(const float* x, std::size_t n, float shift, float* out);
  void (*exp)(const float* x, std::size_t n, float* out);
  void (*log)(const float* x, std::size_t n, float* out);
  void (*tanh)(const float* x, std::size_t n, float* out);

  void (*attend_segment)(const AttendSegment&);
  void (*merge_segments)(const MergeSegments&);
  void (*store_key_value)(const StoreKeyValue&);
};

// For a level that select_isa returned: built and available here.
const KernelTable& kernel_table(Isa isa);

// One per translation unit of an instruction set.
const KernelTable& scalar_kernels();
const KernelTable& avx2_kernels();
const KernelTable& neon_kernels();
const KernelTable& neon_dot_kernels();

}  // namespace takt
