// What a step has to read and multiply of a model's matrices: the two sides of a roofline.
#pragma once

#include <cstdint>
#include <optional>

#include "model/gguf.h"

namespace takt {

struct MatrixWork {
  std::uint64_t bytes = 0;            // as in the file, read once by every step
  std::uint64_t layer_elements = 0;   // multiplied once for every row
  std::uint64_t output_elements = 0;  // once for every row that wants logits
};

// Nothing for a mixture of experts: what its steps read depends on the tokens.
std::optional<MatrixWork> matrix_work(const GgufFile& file);

}  // namespace takt
