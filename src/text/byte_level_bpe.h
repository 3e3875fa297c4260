// Kind "gpt2": BPE over bytes spelled as printable characters (Radford et al., "Language Models are Unsupervised
// Multitask Learners", 2019, section 2.2).
#pragma once

#include <memory>

#include "text/tokenizer.h"

namespace takt {

Result<std::unique_ptr<Tokenizer>> create_byte_level_bpe(ModelVocabulary vocabulary);

}  // namespace takt
