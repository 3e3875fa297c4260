// F11: tokenizer metadata is checked as a whole before use.
#include "model/vocabulary.h"

#include <gtest/gtest.h>

#include "support/gguf_writer.h"

namespace takt {
namespace {

using testing::GgufWriter;
using testing::parse_gguf;

GgufWriter small_vocabulary() {
  GgufWriter writer;
  writer.add_string("tokenizer.ggml.model", "gpt2");
  writer.add_strings("tokenizer.ggml.tokens", {"a", "b", "ab", "<|im_end|>"});
  writer.add_numbers<std::int32_t>("tokenizer.ggml.token_type", GgufType::kInt32, {1, 1, 1, 3});
  return writer;
}

std::string refused_key(const GgufWriter& writer) {
  const std::string bytes = writer.bytes();
  const auto file = parse_gguf(bytes);
  EXPECT_TRUE(file.ok());
  const auto vocabulary = read_vocabulary(*file);
  return vocabulary.ok() ? "" : vocabulary.error().field;
}

TEST(Vocabulary, ReadsTokensTypesAndSpecialIds) {
  GgufWriter writer = small_vocabulary();
  writer.add_strings("tokenizer.ggml.merges", {"a b"});
  writer.add_u32("tokenizer.ggml.eos_token_id", 2);
  writer.add_u32("tokenizer.ggml.padding_token_id", 0xFFFFFFFFU);
  writer.add_bool("tokenizer.ggml.add_bos_token", false);
  const std::string bytes = writer.bytes();
  const auto file = parse_gguf(bytes);
  const auto vocabulary = read_vocabulary(*file);
  ASSERT_TRUE(vocabulary.ok()) << vocabulary.error().message;
  EXPECT_EQ(vocabulary->tokens.size(), 4U);
  EXPECT_EQ(vocabulary->types[3], TokenType::kControl);
  EXPECT_EQ(vocabulary->eos, TokenId{2});
  EXPECT_FALSE(vocabulary->pad.has_value());
  EXPECT_EQ(vocabulary->add_bos, false);
  EXPECT_EQ(vocabulary->end_of_generation, (std::vector<TokenId>{2, 3}));
}

TEST(Vocabulary, EachInconsistentKeyIsRefusedByName) {
  GgufWriter scores = small_vocabulary();
  scores.add_numbers<float>("tokenizer.ggml.scores", GgufType::kFloat32, {0.0F});
  EXPECT_EQ(refused_key(scores), "tokenizer.ggml.scores");

  GgufWriter wrong_type = small_vocabulary();
  wrong_type.add_numbers<std::int32_t>("tokenizer.ggml.scores", GgufType::kInt32, {0, 0, 0, 0});
  EXPECT_EQ(refused_key(wrong_type), "tokenizer.ggml.scores");

  GgufWriter merges = small_vocabulary();
  merges.add_strings("tokenizer.ggml.merges", {"a b", "ab"});
  EXPECT_EQ(refused_key(merges), "tokenizer.ggml.merges");

  GgufWriter eos = small_vocabulary();
  eos.add_u32("tokenizer.ggml.eos_token_id", 4);
  EXPECT_EQ(refused_key(eos), "tokenizer.ggml.eos_token_id");

  GgufWriter flag = small_vocabulary();
  flag.add_u32("tokenizer.ggml.add_bos_token", 1);
  EXPECT_EQ(refused_key(flag), "tokenizer.ggml.add_bos_token");

  GgufWriter types;
  types.add_string("tokenizer.ggml.model", "gpt2");
  types.add_strings("tokenizer.ggml.tokens", {"a", "b"});
  types.add_numbers<std::int32_t>("tokenizer.ggml.token_type", GgufType::kInt32, {1, 7});
  EXPECT_EQ(refused_key(types), "tokenizer.ggml.token_type");

  GgufWriter none;
  none.add_string("tokenizer.ggml.model", "gpt2");
  EXPECT_EQ(refused_key(none), "tokenizer.ggml.tokens");
}

}  // namespace
}  // namespace takt
