// A model's vocabulary and tokenizer settings as its file states them, checked: plain data between `model` (which reads
// it) and `text` (which uses it).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/ids.h"

namespace takt {

// Values as in GGUF's tokenizer.ggml.token_type.
enum class TokenType : std::uint8_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6
};

struct ModelVocabulary {
  std::string kind;                                // tokenizer.ggml.model: gpt2 | llama | gemma4 | bert | t5
  std::string pre;                                 // tokenizer.ggml.pre, may be empty
  std::string model_name;                          // general.name, may be empty
  std::vector<std::string> tokens;                 // raw bytes as in the file; index = id
  std::vector<float> scores;                       // empty or one per token
  std::vector<TokenType> types;                    // one per token
  std::vector<std::string> merges;                 // "left right", in rank order; BPE kinds only
  std::vector<std::uint8_t> precompiled_charsmap;  // t5 only

  std::optional<TokenId> bos, eos, eot, eom, unk, sep, pad, cls, mask;
  std::optional<bool> add_bos, add_eos, add_sep, add_space_prefix, remove_extra_whitespaces;
  std::vector<TokenId> end_of_generation;  // every id after which the model is done (eos, eot, eom and ids with
                                           // well-known end-of-turn names)

  std::string chat_template;  // tokenizer.chat_template, may be empty
};

}  // namespace takt
