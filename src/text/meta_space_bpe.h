// Kind "gemma4": BPE by merge ranks over characters, spaces as U+2581, bytes for characters without a token.
#pragma once

#include <memory>

#include "text/tokenizer.h"

namespace takt {

Result<std::unique_ptr<Tokenizer>> create_meta_space_bpe(ModelVocabulary vocabulary);

}  // namespace takt
