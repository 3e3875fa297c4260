// Kind "bert": BERT's basic tokenizer and greedy longest-match WordPiece (Devlin et al., "BERT", NAACL 2019; uncased
// models), as the published tokenizers do it. In GGUF files word beginnings carry U+2581 and continuations nothing.
#pragma once

#include <memory>

#include "text/tokenizer.h"

namespace takt {

Result<std::unique_ptr<Tokenizer>> create_wordpiece_tokenizer(ModelVocabulary vocabulary);

}  // namespace takt
