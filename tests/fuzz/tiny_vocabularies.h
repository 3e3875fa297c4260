// Small vocabularies of every kind, for fuzzing without files.
#pragma once

#include <array>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "text/tokenizer.h"

namespace takt::fuzz {

// `byte_step`: of 1, every byte has a token; of 2, every other.
inline ModelVocabulary tiny_vocabulary(const std::string& kind, const std::string& pre, int byte_step = 2) {
  ModelVocabulary v;
  v.kind = kind;
  v.pre = pre;
  v.tokens = {"<unk>",
              "<s>",
              "<|im_end|>",
              "  ",
              "\xE2\x96\x81",
              "a",
              "b",
              "ab",
              "\xE2\x96\x81"
              "ab",
              "\xC4\xA0",
              "\xC4\xA0"
              "ab"};
  v.types.assign(v.tokens.size(), TokenType::kNormal);
  v.types[0] = TokenType::kUnknown;
  v.types[1] = v.types[2] = TokenType::kControl;
  v.types[3] = TokenType::kUserDefined;
  for (int byte = 0; byte < 256; byte += byte_step) {
    std::array<char, 8> name{};
    std::snprintf(name.data(), name.size(), "<0x%02X>", byte);
    v.tokens.emplace_back(name.data());
    v.types.push_back(TokenType::kByte);
  }
  for (std::size_t id = 0; id < v.tokens.size(); ++id) v.scores.push_back(-static_cast<float>(id));
  v.merges = {"a b", "\xE2\x96\x81 ab", "\xC4\xA0 ab"};
  v.unk = 0;
  v.bos = 1;
  v.eos = 2;
  return v;
}

inline std::vector<std::unique_ptr<Tokenizer>> tiny_tokenizers() {
  std::vector<std::unique_ptr<Tokenizer>> all;
  for (const auto& [kind, pre] : std::vector<std::pair<std::string, std::string>>{{"gpt2", "llama-bpe"},
                                                                                  {"gpt2", "qwen35"},
                                                                                  {"gpt2", "deepseek-llm"},
                                                                                  {"gpt2", "falcon"},
                                                                                  {"gpt2", "tekken"},
                                                                                  {"gpt2", "deepseek-v3"},
                                                                                  {"llama", ""},
                                                                                  {"gemma4", ""},
                                                                                  {"t5", ""},
                                                                                  {"bert", ""}}) {
    auto tokenizer = Tokenizer::create(tiny_vocabulary(kind, pre));
    if (!tokenizer) __builtin_trap();
    all.push_back(std::move(tokenizer).value());
  }
  for (const char* kind : {"llama", "gemma4"}) {
    auto tokenizer = Tokenizer::create(tiny_vocabulary(kind, "", 1));
    if (!tokenizer) __builtin_trap();
    all.push_back(std::move(tokenizer).value());
  }
  return all;
}

}  // namespace takt::fuzz
