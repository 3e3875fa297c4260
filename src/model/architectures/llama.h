// LLaMA and what shares its files' architecture name: Llama 1 to 3, Mistral, Mixtral, SmolLM2 and many more (Touvron et
// al., arXiv:2302.13971).
#pragma once

#include <memory>

#include "model/decoder.h"
#include "model/weight_source.h"

namespace takt {

std::unique_ptr<Decoder> build_llama(const Hyperparameters& hyperparameters, WeightSource& source);

}  // namespace takt
