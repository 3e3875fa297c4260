// What a vocabulary means where files are known to be wrong or silent, and the checks that every tokenizer needs.
#pragma once

#include "base/result.h"
#include "core/model_vocabulary.h"

namespace takt {

// Checks lengths and ids against the token list; fills `types` with kNormal when it is empty. Errors name the key.
Status check_vocabulary(ModelVocabulary& vocabulary);

// Tokens with the well-known spelling of an end of turn or a fill-in-the-middle marker are control tokens whatever the
// file calls them, so that text from outside can not forge them. "</s>" is one only where "<s>" is too: some
// vocabularies have the pair as HTML tags.
void settle_control_tokens(ModelVocabulary& vocabulary);

}  // namespace takt
