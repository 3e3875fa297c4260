#include "model/vocabulary.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "model/metadata.h"

namespace takt {
namespace {

constexpr std::size_t kMaxNameBytes = 1024;
constexpr std::size_t kMaxTemplateBytes = 1U << 20U;
constexpr std::size_t kMaxTokens = 1U << 24U;
constexpr std::int64_t kNoId = 0xFFFFFFFF;  // -1, as some converters write "none"

// Control tokens with which models end a turn though their file's eos is another one.
constexpr std::array<std::string_view, 13> kEndOfTurnNames{
    "<|eot_id|>",    "<|im_end|>",    "<|end|>",    "<|return|>",      "<|call|>",
    "<end_of_turn>", "<|endoftext|>", "<|eom_id|>", "<|end_of_text|>", "<end_of_utterance>",
    "<EOT>",         "[EOT]",         "<turn|>"};

void read_tokens(MetadataReader& in, ModelVocabulary& out) {
  constexpr std::string_view kKey = "tokenizer.ggml.tokens";
  if (in.status().ok() && in.file().find(kKey) == nullptr) in.fail(kKey, "required key is missing");
  const auto* tokens = in.strings(kKey);
  if (tokens == nullptr) return;
  if (tokens->empty() || tokens->size() > kMaxTokens) {
    in.fail(kKey,
            "has " + std::to_string(tokens->size()) + " tokens; 1 to " + std::to_string(kMaxTokens) + " are possible");
    return;
  }
  out.tokens = *tokens;
}

void check_length(MetadataReader& in, std::string_view key, std::size_t length, const ModelVocabulary& out) {
  if (in.status().ok() && length != out.tokens.size()) {
    in.fail(key, "has " + std::to_string(length) + " elements, tokenizer.ggml.tokens has " +
                     std::to_string(out.tokens.size()));
  }
}

void read_scores_and_types(MetadataReader& in, ModelVocabulary& out) {
  if (auto scores = in.numbers("tokenizer.ggml.scores")) {
    check_length(in, "tokenizer.ggml.scores", scores->size(), out);
    out.scores = std::move(*scores);
  }
  out.types.assign(out.tokens.size(), TokenType::kNormal);
  if (const auto types = in.integers("tokenizer.ggml.token_type", {1, 6})) {
    check_length(in, "tokenizer.ggml.token_type", types->size(), out);
    if (!in.status().ok()) return;
    std::transform(types->begin(), types->end(), out.types.begin(),
                   [](std::int64_t t) { return static_cast<TokenType>(t); });
  }
}

void read_merges(MetadataReader& in, ModelVocabulary& out) {
  constexpr std::string_view kKey = "tokenizer.ggml.merges";
  const auto* merges = in.strings(kKey);
  if (merges == nullptr) return;
  for (std::size_t i = 0; i < merges->size(); ++i) {
    const std::string& merge = (*merges)[i];
    const std::size_t space = merge.find(' ', 1);  // the left part has at least one byte, which may be a space
    if (merge.empty() || space == std::string::npos || space + 1 == merge.size()) {
      in.fail(kKey,
              "merge " + std::to_string(i) + " (\"" + printable(merge) + "\") is not two parts with a space between");
      return;
    }
  }
  out.merges = *merges;
}

void read_id(MetadataReader& in, std::string_view name, const ModelVocabulary& vocabulary,
             std::optional<TokenId>& out) {
  const std::string key = "tokenizer.ggml." + std::string(name) + "_token_id";
  const auto id = in.integer(key, {-1, INT64_MAX});
  if (!id || *id == -1 || *id == kNoId) return;
  if (*id >= static_cast<std::int64_t>(vocabulary.tokens.size())) {
    in.fail(key, "is " + std::to_string(*id) + "; the vocabulary has " + std::to_string(vocabulary.tokens.size()) +
                     " tokens");
    return;
  }
  out = static_cast<TokenId>(*id);
}

void read_special_ids(MetadataReader& in, ModelVocabulary& out) {
  read_id(in, "bos", out, out.bos);
  read_id(in, "eos", out, out.eos);
  read_id(in, "eot", out, out.eot);
  read_id(in, "eom", out, out.eom);
  read_id(in, "unknown", out, out.unk);
  read_id(in, "seperator", out, out.sep);  // the format's spelling
  read_id(in, "padding", out, out.pad);
  read_id(in, "cls", out, out.cls);
  read_id(in, "mask", out, out.mask);
}

void read_switches(MetadataReader& in, ModelVocabulary& out) {
  out.add_bos = in.boolean("tokenizer.ggml.add_bos_token");
  out.add_eos = in.boolean("tokenizer.ggml.add_eos_token");
  out.add_sep = in.boolean("tokenizer.ggml.add_sep_token");
  out.add_space_prefix = in.boolean("tokenizer.ggml.add_space_prefix");
  out.remove_extra_whitespaces = in.boolean("tokenizer.ggml.remove_extra_whitespaces");
}

void collect_end_of_generation(ModelVocabulary& out) {
  for (const auto& id : {out.eos, out.eot, out.eom}) {
    if (id) out.end_of_generation.push_back(*id);
  }
  for (std::size_t id = 0; id < out.tokens.size(); ++id) {
    if (out.types[id] != TokenType::kControl && out.types[id] != TokenType::kUserDefined) continue;
    if (std::find(kEndOfTurnNames.begin(), kEndOfTurnNames.end(), out.tokens[id]) != kEndOfTurnNames.end()) {
      out.end_of_generation.push_back(static_cast<TokenId>(id));
    }
  }
  std::sort(out.end_of_generation.begin(), out.end_of_generation.end());
  out.end_of_generation.erase(std::unique(out.end_of_generation.begin(), out.end_of_generation.end()),
                              out.end_of_generation.end());
}

}  // namespace

Result<ModelVocabulary> read_vocabulary(const GgufFile& file) {
  MetadataReader in(file);
  ModelVocabulary out;
  out.kind = in.required_string("tokenizer.ggml.model", kMaxNameBytes);
  out.pre = in.string("tokenizer.ggml.pre", kMaxNameBytes).value_or(std::string());
  out.model_name = in.string("general.name", kMaxNameBytes).value_or(std::string());
  out.chat_template = in.string("tokenizer.chat_template", kMaxTemplateBytes).value_or(std::string());
  read_tokens(in, out);
  read_scores_and_types(in, out);
  read_merges(in, out);
  if (auto charsmap = in.bytes("tokenizer.ggml.precompiled_charsmap")) out.precompiled_charsmap = std::move(*charsmap);
  read_special_ids(in, out);
  read_switches(in, out);
  if (!in.status().ok()) return in.status().error();
  collect_end_of_generation(out);
  return out;
}

}  // namespace takt
