// Fills a table with the kernels of a lanes type. Included by the translation units of the instruction sets only.
#pragma once

#include "kernels/attention_kernels.h"
#include "kernels/kernel_table.h"
#include "kernels/matmul_kernels.h"
#include "kernels/row_kernels.h"

namespace takt {

template <typename L>
constexpr KernelTable kernel_table_of() {
  using Matmul = MatmulKernels<L>;
  using Rows = RowKernels<L>;
  using Attention = AttentionKernels<L>;
  return KernelTable{
      .stripe_q4_0 = &Matmul::q4_0,
      .stripe_q4_1 = &Matmul::q4_1,
      .stripe_q5_0 = &Matmul::q5_0,
      .stripe_q5_1 = &Matmul::q5_1,
      .stripe_q8_0 = &Matmul::q8_0,
      .stripe_iq4_nl = &Matmul::iq4_nl,
      .stripe_q4_k = &Matmul::q4_k,
      .stripe_q5_k = &Matmul::q5_k,
      .stripe_q6_k = &Matmul::q6_k,
      .stripe_iq4_xs = &Matmul::iq4_xs,
      .tile_f32 = &Matmul::tile,
      .widen_half = &Matmul::widen_half,
      .widen_bfloat = &Matmul::widen_bfloat,
      .quantise_32 = &Rows::quantise_32,
      .rms_norm = &Rows::rms_norm,
      .silu_multiply = &Rows::silu_multiply,
      .add = &Rows::add,
      .rope_adjacent = &Rows::rope_adjacent,
      .rope_halves = &Rows::rope_halves,
      .max = &Rows::max,
      .lane_maxima = &Rows::lane_maxima,
      .exp_sum = &Rows::exp_sum,
      .exp = &Rows::exp,
      .log = &Rows::log,
      .tanh = &Rows::tanh,
      .attend_segment = &Attention::attend,
      .merge_segments = &Attention::merge,
      .store_key_value = &Attention::store,
  };
}

}  // namespace takt
