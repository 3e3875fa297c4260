// Kind "t5": Unigram, the most probable segmentation by Viterbi search (Kudo, "Subword Regularization", ACL 2018,
// section 3.2), after SentencePiece's normalisation.
#pragma once

#include <memory>

#include "text/tokenizer.h"

namespace takt {

Result<std::unique_ptr<Tokenizer>> create_unigram_tokenizer(ModelVocabulary vocabulary);

}  // namespace takt
