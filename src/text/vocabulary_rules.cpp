#include "text/vocabulary_rules.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

namespace takt {
namespace {

constexpr std::array<std::string_view, 52> kControlSpellings{
    // ends of a turn or of the text
    "<|eot_id|>", "<|eom_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>", "<|calls|>", "<|flush|>",
    "<end_of_turn>", "<turn|>", "<eos>", "[EOS]", "<|endoftext|>", "<|end_of_text|>", "<EOT>", "_<EOT>", "[EOT]",
    "<end_of_utterance>",
    "<\xEF\xBD\x9C"
    "end\xE2\x96\x81of\xE2\x96\x81sentence\xEF\xBD\x9C>",
    "[e~[", "<|tool_response>",
    // fill in the middle
    "<|fim_prefix|>", "<fim-prefix>", "<fim_prefix>",
    "<\xEF\xBD\x9C"
    "fim\xE2\x96\x81"
    "begin\xEF\xBD\x9C>",
    "<PRE>", "\xE2\x96\x81<PRE>", "<|code_prefix|>", "<|fim_suffix|>", "<fim-suffix>", "<fim_suffix>",
    "<\xEF\xBD\x9C"
    "fim\xE2\x96\x81hole\xEF\xBD\x9C>",
    "<SUF>", "\xE2\x96\x81<SUF>", "<|code_suffix|>", "<|fim_middle|>", "<fim-middle>", "<fim_middle>",
    "<\xEF\xBD\x9C"
    "fim\xE2\x96\x81"
    "end\xEF\xBD\x9C>",
    "<MID>", "\xE2\x96\x81<MID>", "<|code_middle|>", "<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]",
    "<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"};
constexpr std::string_view kFileSeparator = "<|file_sep|>";

bool is_control(TokenType type) {
  return type == TokenType::kControl || type == TokenType::kUnknown;
}

Error wrong(std::string key, const std::string& what) {
  return Error::invalid(key, key + ": " + what);
}

}  // namespace

Status check_vocabulary(ModelVocabulary& vocabulary) {
  const std::size_t count = vocabulary.tokens.size();
  if (count == 0) return wrong("tokenizer.ggml.tokens", "the list is missing or empty");
  if (count > static_cast<std::size_t>(std::numeric_limits<TokenId>::max())) {
    return wrong("tokenizer.ggml.tokens", "more tokens than 31-bit ids");
  }
  if (vocabulary.types.empty()) vocabulary.types.assign(count, TokenType::kNormal);
  const auto must_match = [&](const char* key, std::size_t length) -> Status {
    if (length == count) return {};
    return wrong(key,
                 "has " + std::to_string(length) + " elements, tokenizer.ggml.tokens has " + std::to_string(count));
  };
  if (auto ok = must_match("tokenizer.ggml.token_type", vocabulary.types.size()); !ok) return ok;
  if (!vocabulary.scores.empty()) {
    if (auto ok = must_match("tokenizer.ggml.scores", vocabulary.scores.size()); !ok) return ok;
    const bool finite =
        std::all_of(vocabulary.scores.begin(), vocabulary.scores.end(), [](float s) { return !std::isnan(s); });
    if (!finite) return wrong("tokenizer.ggml.scores", "holds a NaN");
  }
  using NamedId = std::pair<const char*, std::optional<TokenId>>;
  for (const auto& [name, id] : std::initializer_list<NamedId>{{"bos", vocabulary.bos},
                                                               {"eos", vocabulary.eos},
                                                               {"eot", vocabulary.eot},
                                                               {"eom", vocabulary.eom},
                                                               {"unknown", vocabulary.unk},
                                                               {"seperator", vocabulary.sep},
                                                               {"padding", vocabulary.pad},
                                                               {"cls", vocabulary.cls},
                                                               {"mask", vocabulary.mask}}) {
    if (id && (*id < 0 || static_cast<std::size_t>(*id) >= count)) {
      return wrong("tokenizer.ggml." + std::string(name) + "_token_id", "is outside the vocabulary");
    }
  }
  return {};
}

void settle_control_tokens(ModelVocabulary& vocabulary) {
  bool closes_sequence = vocabulary.kind == "gpt2";
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    if (vocabulary.tokens[id] == "<s>" && is_control(vocabulary.types[id])) closes_sequence = true;
  }
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    if (vocabulary.types[id] != TokenType::kUserDefined && vocabulary.types[id] != TokenType::kNormal) continue;
    const std::string& token = vocabulary.tokens[id];
    const bool known = std::find(kControlSpellings.begin(), kControlSpellings.end(), token) != kControlSpellings.end();
    if (known || token == kFileSeparator || (token == "</s>" && closes_sequence)) {
      vocabulary.types[id] = TokenType::kControl;
    }
  }
}

}  // namespace takt
