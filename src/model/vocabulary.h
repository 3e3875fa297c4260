// The tokenizer part of a GGUF file, checked as a whole (type, length, range, and keys against each other) before
// anyone uses it.
#pragma once

#include "base/result.h"
#include "core/model_vocabulary.h"
#include "model/gguf.h"

namespace takt {

// Works for vocabulary-only files too. Errors: kInvalidArgument, the key in field and message. A special id of -1
// (4294967295) means "none"; any other id outside the vocabulary is refused.
Result<ModelVocabulary> read_vocabulary(const GgufFile& file);

}  // namespace takt
