// The tokens that logprobs list are those of the text, whatever its cuts (C7, C12, C15).
#include <gtest/gtest.h>

#include "serve/choice_text.h"

namespace takt::serve {
namespace {

// Its tokens are the pieces that a test gives it.
class PieceTokenizer final : public Tokenizer {
 public:
  explicit PieceTokenizer(std::vector<std::string> pieces) { vocabulary_.tokens = std::move(pieces); }
  Result<std::vector<TokenId>> encode(std::string_view, const EncodeOptions&) const override {
    return Error::internal("not needed");
  }
  std::string_view piece(TokenId token, bool) const override {
    return vocabulary_.tokens[static_cast<std::size_t>(token)];
  }
  const ModelVocabulary& vocabulary() const override { return vocabulary_; }

 private:
  ModelVocabulary vocabulary_;
};

struct Said {
  std::string text;
  std::string bytes;  // of the listed tokens, joined
  std::vector<std::uint32_t> offsets;
};

// What comes of these pieces; `streamed`: taken after each of them, as streams do.
Said say(const std::vector<std::string>& pieces, std::vector<std::string> stops, bool streamed = false) {
  const PieceTokenizer tokenizer(pieces);
  ChoiceText choice(tokenizer, std::move(stops), true);
  Said said;
  const auto take = [&] {
    said.text += choice.take_text();
    for (const api::ScoredToken& token : choice.take_tokens()) {
      said.bytes += token.bytes;
      said.offsets.push_back(token.text_offset);
    }
    if (streamed) {
      EXPECT_TRUE(said.text.starts_with(said.bytes)) << "a token never comes before its text";
    }
  };
  bool stopped = false;
  for (std::size_t i = 0; i < pieces.size() && !stopped; ++i) {
    stopped = choice.add({static_cast<TokenId>(i), -0.5F, {}});
    if (streamed) take();
  }
  if (!stopped) choice.finish();
  take();
  return said;
}

// Every way to cut a text into three tokens.
template <typename Check>
void for_all_cuts(const std::string& text, Check check) {
  for (std::size_t first = 0; first <= text.size(); ++first) {
    for (std::size_t second = first; second <= text.size(); ++second)
      check(std::vector{text.substr(0, first), text.substr(first, second - first), text.substr(second)});
  }
}

TEST(ChoiceLogprobs, TheListedTokensJoinToTheTextWhereverAStopStringBegins) {
  for (const char* text : {"abSTOPcd", "STOP", "a\xE2\x82\xACSTOP", "ab\xF0\x9F\x98\x80z", "abSTxSTO", ""}) {
    for (const std::vector<std::string>& stops :
         {std::vector<std::string>{"STOP"}, {"\xE2\x82\xAC"}, {"xSTO", "b"}, {"\xF0\x9F\x98\x80z"}, {}}) {
      for_all_cuts(text, [&](const std::vector<std::string>& pieces) {
        const Said whole = say(pieces, stops);
        EXPECT_EQ(whole.bytes, whole.text);
        const Said streamed = say(pieces, stops, true);
        EXPECT_EQ(streamed.text, whole.text);
        EXPECT_EQ(streamed.bytes, whole.bytes);
        EXPECT_EQ(streamed.offsets, whole.offsets);
      });
    }
  }
}

TEST(ChoiceLogprobs, AnOffsetCountsTheCharactersBeforeTheTokensOwn) {
  const std::string text = "a\xE2\x82\xAC\xC3\xA9z";
  const std::vector<std::uint32_t> character_of_byte = {0, 1, 1, 1, 2, 2, 3, 4};
  for_all_cuts(text, [&](const std::vector<std::string>& pieces) {
    const Said said = say(pieces, {});
    const std::size_t first = pieces[0].size(), second = first + pieces[1].size();
    EXPECT_TRUE(pieces[1].empty() || said.offsets[1] == character_of_byte[first]) << first << " " << second;
    EXPECT_TRUE(pieces[2].empty() || said.offsets[2] == character_of_byte[second]) << first << " " << second;
  });
}

TEST(ChoiceLogprobs, AnOffsetCountsReplacementCharactersForBytesThatAreNone) {
  EXPECT_EQ(say({"\xE2", "a", "b"}, {}).offsets, (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(say({"x\xE2\x82", "\xC3", "\xA9", "b"}, {}).offsets, (std::vector<std::uint32_t>{0, 2, 2, 3}));
  EXPECT_EQ(say({"\xFF", "\x9F", "b"}, {}).offsets, (std::vector<std::uint32_t>{0, 1, 2}));
}

TEST(ChoiceLogprobs, BytesThatAreNoCharacterAreListedUnlessTheStopStringBeginsBeforeThem) {
  EXPECT_EQ(say({"\xE2", "STOP"}, {"STOP"}).bytes, "\xE2");
  EXPECT_EQ(say({"\xE2S", "TOP"}, {"STOP"}).bytes, "\xE2");
  EXPECT_EQ(say({"S", "\xE2", "TOP"}, {"STOP"}).bytes, "S\xE2TOP");
  EXPECT_EQ(say({"ab\xE2"}, {}).bytes, "ab\xE2");
}

TEST(ChoiceLogprobs, AStopStringDoesNotDependOnWhetherLogprobsAreAskedFor) {
  for_all_cuts("abcd", [&](const std::vector<std::string>& pieces) {
    const PieceTokenizer tokenizer(pieces);
    ChoiceText plain(tokenizer, {"bcd", "c"}, false);
    for (TokenId id = 0; id < 3 && !plain.add({id, -0.5F, {}}); ++id) {
    }
    plain.finish();
    EXPECT_EQ(plain.take_text(), say(pieces, {"bcd", "c"}).text);
  });
}

}  // namespace
}  // namespace takt::serve
