// Kind "llama": SentencePiece BPE, where the score of the merged token decides (Kudo and Richardson, "SentencePiece",
// EMNLP 2018), with byte fallback.
#pragma once

#include <memory>

#include "text/tokenizer.h"

namespace takt {

Result<std::unique_ptr<Tokenizer>> create_spm_tokenizer(ModelVocabulary vocabulary);

}  // namespace takt
