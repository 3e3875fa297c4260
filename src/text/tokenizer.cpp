#include "text/tokenizer.h"

#include <algorithm>
#include <new>
#include <utility>

#include "text/byte_level_bpe.h"
#include "text/meta_space_bpe.h"
#include "text/spm_tokenizer.h"
#include "text/unigram_tokenizer.h"
#include "text/vocabulary_rules.h"
#include "text/wordpiece_tokenizer.h"

namespace takt {
namespace {

using Create = Result<std::unique_ptr<Tokenizer>> (*)(ModelVocabulary);

Create kind_named(const std::string& kind) {
  if (kind == "gpt2") return create_byte_level_bpe;
  if (kind == "llama") return create_spm_tokenizer;
  if (kind == "gemma4") return create_meta_space_bpe;
  if (kind == "t5") return create_unigram_tokenizer;
  if (kind == "bert") return create_wordpiece_tokenizer;
  return nullptr;
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> Tokenizer::create(ModelVocabulary vocabulary) {
  const Create create_kind = kind_named(vocabulary.kind);
  if (create_kind == nullptr) {
    return Error::invalid("tokenizer.ggml.model",
                          "tokenizer.ggml.model: the tokenizer kind \"" + vocabulary.kind + "\" is not supported");
  }
  if (auto status = check_vocabulary(vocabulary); !status) return status.error();
  settle_control_tokens(vocabulary);
  return create_kind(std::move(vocabulary));
}

bool Tokenizer::is_end_of_generation(TokenId token) const {
  const auto& ends = vocabulary().end_of_generation;
  return std::find(ends.begin(), ends.end(), token) != ends.end();
}

}  // namespace takt
