// Tokenizers over vocabularies of a few tokens.
#include "text/tokenizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "text/unicode.h"

namespace takt {
namespace {

// Bytes a-z, a space, and what the tests need. Ids: 0 <s>, 1 <|im_end|>, 2 [user], 3 space, 4 a, 5 b, 6 ab, 7 space ab
ModelVocabulary byte_level() {
  ModelVocabulary v;
  v.kind = "gpt2";
  v.pre = "gpt-2";
  v.tokens = {"<s>",
              "<|im_end|>",
              "[user]",
              "\xC4\xA0",
              "a",
              "b",
              "ab",
              "\xC4\xA0"
              "ab"};
  v.types.assign(v.tokens.size(), TokenType::kNormal);
  v.types[0] = TokenType::kControl;
  v.types[1] = TokenType::kUserDefined;  // the file is wrong: a control token by its spelling
  v.types[2] = TokenType::kUserDefined;
  v.merges = {"a b", "\xC4\xA0 ab"};
  v.bos = 0;
  v.eos = 1;
  v.add_bos = true;
  v.end_of_generation = {1};
  return v;
}

ModelVocabulary spm() {
  ModelVocabulary v;
  v.kind = "llama";
  v.tokens = {"<unk>",
              "<s>",
              "</s>",
              "<0x41>",
              "<0xFF>",
              "\xE2\x96\x81",
              "a",
              "b",
              "ab",
              "\xE2\x96\x81"
              "ab"};
  v.types = {TokenType::kUnknown, TokenType::kControl, TokenType::kControl, TokenType::kByte,   TokenType::kByte,
             TokenType::kNormal,  TokenType::kNormal,  TokenType::kNormal,  TokenType::kNormal, TokenType::kNormal};
  v.scores = {0, 0, 0, 0, 0, -3, -4, -5, -1, -2};
  v.unk = 0;
  v.bos = 1;
  v.eos = 2;
  return v;
}

std::unique_ptr<Tokenizer> make(ModelVocabulary vocabulary) {
  auto tokenizer = Tokenizer::create(std::move(vocabulary));
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  return std::move(tokenizer).value();
}

std::vector<TokenId> ids(const Tokenizer& tokenizer, std::string_view text, const EncodeOptions& options = {}) {
  const auto encoded = tokenizer.encode(text, options);
  EXPECT_TRUE(encoded.ok());
  return encoded.ok() ? *encoded : std::vector<TokenId>{-1};
}

using Ids = std::vector<TokenId>;

TEST(Tokenizer, AnUnknownKindOrPreTokenizerIsAnErrorThatNamesIt) {
  ModelVocabulary kind = byte_level();
  kind.kind = "rwkv";
  const auto no_kind = Tokenizer::create(std::move(kind));
  ASSERT_FALSE(no_kind.ok());
  EXPECT_EQ(no_kind.error().field, "tokenizer.ggml.model");
  EXPECT_NE(no_kind.error().message.find("rwkv"), std::string::npos);
  ModelVocabulary pre = byte_level();
  pre.pre = "no-such-pre";
  const auto no_pre = Tokenizer::create(std::move(pre));
  ASSERT_FALSE(no_pre.ok());
  EXPECT_EQ(no_pre.error().field, "tokenizer.ggml.pre");
  EXPECT_NE(no_pre.error().message.find("no-such-pre"), std::string::npos);
}

TEST(Tokenizer, AVocabularyThatContradictsItselfIsRefusedByKey) {
  ModelVocabulary scores = spm();
  scores.scores.pop_back();
  EXPECT_EQ(Tokenizer::create(std::move(scores)).error().field, "tokenizer.ggml.scores");
  ModelVocabulary bos = spm();
  bos.bos = 10;
  EXPECT_EQ(Tokenizer::create(std::move(bos)).error().field, "tokenizer.ggml.bos_token_id");
  ModelVocabulary merges = byte_level();
  merges.merges.push_back("ab");
  EXPECT_EQ(Tokenizer::create(std::move(merges)).error().field, "tokenizer.ggml.merges");
  ModelVocabulary charsmap = spm();
  charsmap.kind = "t5";
  charsmap.precompiled_charsmap = {255, 255, 255, 255, 0};
  EXPECT_EQ(Tokenizer::create(std::move(charsmap)).error().field, "tokenizer.ggml.precompiled_charsmap");
}

// The vocabularies above with a token for every byte.
std::vector<ModelVocabulary> with_all_bytes() {
  ModelVocabulary level = byte_level();
  ModelVocabulary meta = spm();
  for (char32_t byte = 0, next = 0x100; byte < 256; ++byte) {
    const bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    std::string spelled;
    unicode::append_utf8(spelled, printable ? byte : next++);
    if (std::find(level.tokens.begin(), level.tokens.end(), spelled) == level.tokens.end()) {
      level.tokens.push_back(spelled);
      level.types.push_back(TokenType::kNormal);
    }
    char fallback[7];
    std::snprintf(fallback, sizeof fallback, "<0x%02X>", static_cast<unsigned>(byte));
    if (std::find(meta.tokens.begin(), meta.tokens.end(), fallback) == meta.tokens.end()) {
      meta.tokens.emplace_back(fallback);
      meta.types.push_back(TokenType::kByte);
      meta.scores.push_back(0);
    }
  }
  return {level, meta};
}

double seconds_of(const Tokenizer& tokenizer, std::string_view text, std::size_t max_tokens) {
  EncodeOptions options;
  options.max_tokens = max_tokens;
  const auto begin = std::chrono::steady_clock::now();
  const auto encoded = tokenizer.encode(text, options);
  EXPECT_EQ(encoded.ok(), max_tokens > text.size());
  EXPECT_TRUE(encoded.ok() || encoded.error().code == ErrorCode::kContextLength);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// The work ends where it is certain that a text has too many tokens, one long word included.
TEST(Tokenizer, AHopelesslyLongTextIsGivenUpEarly) {
  std::string words;
  while (words.size() < (std::size_t{4} << 20U)) words += "ab a b ab ";
  const std::string one_word(std::size_t{4} << 20U, 'a');
  for (const ModelVocabulary& vocabulary : with_all_bytes()) {
    const auto tokenizer = make(vocabulary);
    const std::string text = "ab a b ab";
    EncodeOptions options;
    const std::size_t count = ids(*tokenizer, text).size();
    options.max_tokens = count;
    EXPECT_EQ(ids(*tokenizer, text, options).size(), count);
    options.max_tokens = count - 1;
    EXPECT_FALSE(tokenizer->encode(text, options).ok());
    for (const std::string& huge : {words, one_word}) {
      const double whole = seconds_of(*tokenizer, huge, 2 * huge.size());
      EXPECT_LT(seconds_of(*tokenizer, huge, 1000), whole / 3) << vocabulary.kind << " " << whole;
    }
  }
}

// C13: exactly one BOS, whether the template writes it, the file asks for it, or both.
TEST(Tokenizer, ABeginningThatTheTextWritesItselfIsNotDoubled) {
  const auto tokenizer = make(byte_level());
  EXPECT_EQ(ids(*tokenizer, "ab", {true, true, {}, false}), (Ids{0, 6}));
  EXPECT_EQ(ids(*tokenizer, "<s>ab", {true, true, {}, false}), (Ids{0, 6}));
  EXPECT_EQ(ids(*tokenizer, "<s>ab", {false, true, {}, false}), (Ids{0, 6}));
  EXPECT_EQ(ids(*tokenizer, "<s>ab", {true, true, {}, true}), (Ids{0, 0, 6}));
}

// C14: a control token in untrusted text, or across its border, is spelled out; user-defined tokens are text and stay.
TEST(Tokenizer, UntrustedTextNeverBecomesAControlToken) {
  const auto tokenizer = make(byte_level());
  const std::string text = "ab<|im_end|>ab<|im_end|>[user]";
  for (std::size_t begin = 0; begin <= text.size(); ++begin) {
    for (std::size_t end = begin; end <= text.size(); ++end) {
      const std::vector<TextRange> untrusted{{begin, end}};
      const Ids encoded = ids(*tokenizer, text, {false, true, untrusted, false});
      const auto touches = [&](std::size_t at) { return begin < end && begin < at + 10 && end > at; };
      const auto expected = static_cast<std::ptrdiff_t>(!touches(2)) + static_cast<std::ptrdiff_t>(!touches(14));
      ASSERT_EQ(std::count(encoded.begin(), encoded.end(), 1), expected) << begin << ".." << end;
      ASSERT_EQ(encoded.back(), 2);
    }
  }
  const Ids plain = ids(*tokenizer, text, {});
  EXPECT_EQ(std::count(plain.begin(), plain.end(), 1), 0);
}

TEST(Tokenizer, PiecesHideControlTokensUnlessAskedForAndUnknownIdsGiveNothing) {
  const auto tokenizer = make(byte_level());
  EXPECT_EQ(tokenizer->piece(7, false), " ab");
  EXPECT_EQ(tokenizer->piece(1, false), "");
  EXPECT_EQ(tokenizer->piece(1, true), "<|im_end|>");
  EXPECT_EQ(tokenizer->piece(2, false), "[user]");
  EXPECT_EQ(tokenizer->piece(-1, true), "");
  EXPECT_EQ(tokenizer->piece(8, true), "");
  EXPECT_TRUE(tokenizer->is_end_of_generation(1));
  EXPECT_FALSE(tokenizer->is_end_of_generation(0));
}

TEST(Tokenizer, SpmMergesByScorePrefixesASpaceAndFallsBackToBytes) {
  const auto tokenizer = make(spm());
  EXPECT_EQ(ids(*tokenizer, "ab ab", {true, false, {}, false}), (Ids{1, 9, 9}));
  EXPECT_EQ(ids(*tokenizer, "abA\xFF"), (Ids{9, 3, 4}));
  EXPECT_EQ(ids(*tokenizer, "ab\xE4\xBD\xA0"), (Ids{9, 0}));  // no bytes for it: one unknown token
  EXPECT_EQ(ids(*tokenizer, ""), Ids{});
}

// C10: no bytes whatever throw, in any kind.
TEST(Tokenizer, AnyBytesGiveTokensOfTheVocabulary) {
  std::mt19937 random(3);
  ModelVocabulary unigram = spm();
  unigram.kind = "t5";
  ModelVocabulary wordpiece = spm();
  wordpiece.kind = "bert";
  ModelVocabulary meta = spm();
  meta.kind = "gemma4";
  meta.merges = {"a b"};
  for (const ModelVocabulary& vocabulary : {byte_level(), spm(), unigram, wordpiece, meta}) {
    const auto tokenizer = make(vocabulary);
    const auto size = static_cast<TokenId>(vocabulary.tokens.size());
    for (int round = 0; round < 500; ++round) {
      std::string text;
      for (std::size_t i = 0, n = random() % 40; i < n; ++i)
        text.push_back(static_cast<char>(random() % 3 == 0 ? random() % 256 : "ab <"[random() % 4]));
      for (const TokenId id : ids(*tokenizer, text, {true, true, {}, false})) ASSERT_TRUE(id >= 0 && id < size);
    }
  }
}

TEST(Tokenizer, ByteLevelTextComesBackFromItsPieces) {
  const auto tokenizer = make(byte_level());
  std::mt19937 random(5);
  for (int round = 0; round < 500; ++round) {
    std::string text;
    for (std::size_t i = 0, n = random() % 60; i < n; ++i) text.push_back("ab "[random() % 3]);
    std::string back;
    for (const TokenId id : ids(*tokenizer, text)) back += tokenizer->piece(id, false);
    ASSERT_EQ(back, text);
  }
}

}  // namespace
}  // namespace takt
