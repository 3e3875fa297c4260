// Which tokens of a vocabulary message content must not be able to forge.
#pragma once

#include <string>
#include <vector>

#include "core/model_vocabulary.h"

namespace takt::app {

// Spellings of control and user-defined tokens.
std::vector<std::string> control_tokens(const ModelVocabulary& vocabulary);

}  // namespace takt::app
