#include "model/matrix_work.h"

#include <algorithm>
#include <string_view>

namespace takt {
namespace {

constexpr std::string_view kEmbedding = "token_embd.weight";
constexpr std::string_view kOutput = "output.weight";

}  // namespace

std::optional<MatrixWork> matrix_work(const GgufFile& file) {
  const auto& tensors = file.tensors();
  // A row of the embedding is looked up, unless the same matrix makes the logits.
  const bool untied =
      std::any_of(tensors.begin(), tensors.end(), [](const GgufTensor& tensor) { return tensor.name == kOutput; });
  MatrixWork work;
  for (const GgufTensor& tensor : tensors) {
    if (tensor.shape.size() > 2) return std::nullopt;
    if (tensor.shape.size() < 2 || (untied && tensor.name == kEmbedding)) continue;
    const bool output = tensor.name == (untied ? kOutput : kEmbedding);
    work.bytes += tensor.bytes;
    (output ? work.output_elements : work.layer_elements) += tensor.shape[0] * tensor.shape[1];
  }
  return work;
}

}  // namespace takt
