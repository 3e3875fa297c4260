// The published pre-tokenizer patterns, by name. White space is spelled out: what \s means differs between regular
// expression engines, and publishers' engines take Unicode's White_Space.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "text/pre_tokenizer.h"

namespace takt {
namespace {

using Patterns = std::vector<std::string>;

// The inside of a class.
const std::string kSpace =
    R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
const std::string kSpaces = "[" + kSpace + "]+";
// A run of white space, but for its last character when a word follows.
const std::string kSpacesBeforeWord = kSpaces + "(?![^" + kSpace + "])";
const std::string kContraction = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
const std::string kOtherSigns = " ?[^" + kSpace + R"(\p{L}\p{N}]+)";
const std::string kLineEnds = "[" + kSpace + R"(]*[\r\n]+)";

// GPT-2's pattern.
Patterns gpt2() {
  return {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+|)" + kOtherSigns + "|" + kSpacesBeforeWord + "|" + kSpaces};
}

Patterns single_digits_then_gpt2() {
  return {R"(\p{N})", gpt2()[0]};
}

// The pattern of cl100k and its descendants; they differ in how many digits make a word.
Patterns cl100k(const std::string& numbers) {
  return {kContraction + R"(|[^\r\n\p{L}\p{N}]?\p{L}+|)" + numbers + "|" + kOtherSigns + R"([\r\n]*|)" + kLineEnds +
          "|" + kSpacesBeforeWord + "|" + kSpaces};
}

// Qwen 3.5: marks belong to the word they stand on.
Patterns cl100k_with_marks() {
  return {kContraction + R"(|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^)" + kSpace + R"(\p{L}\p{M}\p{N}]+[\r\n]*|)" +
          kLineEnds + "|" + kSpacesBeforeWord + "|" + kSpaces};
}

// The pattern of o200k: words end where capitals begin again.
Patterns o200k(const std::string& contraction, const std::string& numbers) {
  const std::string begin = R"([^\r\n\p{L}\p{N}]?)";
  const std::string upper = R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])";
  const std::string lower = R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])";
  return {begin + upper + "*" + lower + "+" + contraction + "|" + begin + upper + "+" + lower + "*" + contraction +
          "|" + numbers + "|" + kOtherSigns + R"([\r\n/]*|)" + kLineEnds + "|" + kSpacesBeforeWord + "|" + kSpaces};
}

const std::string kCjkAndHangul = R"([\x{4e00}-\x{9fa5}\x{800}-\x{4e00}\x{ac00}-\x{d7ff}]+)";

// Cased letters as DeepSeek LLM's tokenizer lists them.
const std::string kCasedLetters =
    R"(A-Za-z\x{b5}\x{c0}-\x{d6}\x{d8}-\x{f6}\x{f8}-\x{1ba}\x{1bc}-\x{1bf}\x{1c4}-\x{293}\x{295}-\x{2af})"
    R"(\x{370}-\x{373}\x{376}\x{377}\x{37b}-\x{37d}\x{37f}\x{386}\x{388}-\x{38a}\x{38c}\x{38e}-\x{3a1})"
    R"(\x{3a3}-\x{3f5}\x{3f7}-\x{481}\x{48a}-\x{52f}\x{531}-\x{556}\x{10a0}-\x{10c5}\x{13a0}-\x{13f5})"
    R"(\x{13f8}-\x{13fd}\x{1c90}-\x{1cba}\x{1cbd}-\x{1cbf}\x{1d00}-\x{1d2b}\x{1d6b}-\x{1d77})"
    R"(\x{1d79}-\x{1d9a}\x{1e00}-\x{1f15}\x{1f18}-\x{1f1d}\x{1f20}-\x{1f45}\x{1f48}-\x{1f4d})"
    R"(\x{1f50}-\x{1f57}\x{1f59}\x{1f5b}\x{1f5d}\x{1f5f}-\x{1f7d}\x{1f80}-\x{1fb4}\x{1fb6}-\x{1fbc}\x{1fbe})"
    R"(\x{1fc2}-\x{1fc4}\x{1fc6}-\x{1fcc}\x{1fd0}-\x{1fd3}\x{1fd6}-\x{1fdb}\x{1fe0}-\x{1fec})"
    R"(\x{1ff2}-\x{1ff4}\x{1ff6}-\x{1ffc}\x{2102}\x{2107}\x{210a}-\x{2113}\x{2115}\x{2119}-\x{211d}\x{2124})"
    R"(\x{2126}\x{2128}\x{212a}-\x{212d}\x{212f}-\x{2134}\x{2139}\x{213c}-\x{213f}\x{2145}-\x{2149}\x{214e})"
    R"(\x{2183}\x{2184}\x{2c00}-\x{2c7b}\x{2c7e}-\x{2ce4}\x{2ceb}-\x{2cee}\x{2cf2}\x{2cf3}\x{a640}-\x{a66d})"
    R"(\x{a680}-\x{a69b}\x{a722}-\x{a76f}\x{a771}-\x{a787}\x{a78b}-\x{a78e}\x{ab70}-\x{abbf})"
    R"(\x{fb00}-\x{fb06}\x{fb13}-\x{fb17}\x{ff21}-\x{ff3a}\x{ff41}-\x{ff5a}\x{10400}-\x{1044f})"
    R"(\x{104b0}-\x{104d3}\x{104d8}-\x{104fb}\x{10c80}-\x{10cb2}\x{10cc0}-\x{10cf2}\x{118a0}-\x{118df})"
    R"(\x{1e900}-\x{1e943})";

Patterns deepseek_llm() {
  return {
      R"([\r\n])", "[" + kSpace + "]?[" + kCasedLetters + "]+",
      "[" + kSpace + R"(]?[!-/:-~\x{ff01}-\x{ff0f}\x{ff1a}-\x{ff5e}\x{2018}-\x{201f}\x{3000}-\x{3002}]+)",
      // White space at the end; the look-behind keeps a long run elsewhere from being tried at each of its characters.
      "(?<![" + kSpace + "])" + kSpaces + R"(\z)", kCjkAndHangul, R"(\p{N}+)"};
}

Patterns deepseek_coder() {
  return {R"([\r\n])", "[" + kSpace + R"(]?\p{L}+)", "[" + kSpace + R"(]?\p{P}+)", kCjkAndHangul, R"(\p{N})"};
}

Patterns deepseek_v3() {
  return {
      R"(\p{N}{1,3})", R"([\x{4e00}-\x{9fa5}\x{3040}-\x{309f}\x{30a0}-\x{30ff}]+)",
      R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|)" +
          kLineEnds + "|" + kSpacesBeforeWord + "|" + kSpaces};
}

Patterns falcon() {
  return {R"([\p{P}$+<=>^~|`]+)", gpt2()[0], "[0-9][0-9][0-9]"};
}

// For files that name no pre-tokenizer.
Patterns unnamed() {
  return {R"([\p{P}$+<=>^~|]+)", gpt2()[0], R"(\p{N}+)", "[0-9][0-9][0-9]"};
}

Patterns bloom() {
  return {" ?[^(" + kSpace + R"(|.,!?\x{2026}\x{3002}\x{ff0c}\x{3001}\x{964}\x{6d4}\x{60c})]+)"};
}

Patterns bloom_with_single_digits() {
  return {bloom()[0], R"(\p{N})"};
}

Patterns bailing_moe() {
  return {R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^)" + kSpace + R"(\p{L}\p{N}]++[\r\n]*|[)" +
          kSpace + R"(]*[\r\n]|)" + kSpacesBeforeWord + "|" + kSpaces};
}

Patterns seed_coder() {
  return {kContraction + R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^)" + kSpace + R"(\p{L}\p{N}\r\n]+|)" + kLineEnds + "|" +
          kSpacesBeforeWord + "|" + kSpaces};
}

enum Option : unsigned { kPlain = 0, kWholeWords = 1, kNfc = 2, kAddBos = 4 };

struct NamedRule {
  std::string_view name;
  Patterns (*patterns)();
  unsigned options;
};

Patterns three_digits() {
  return cl100k(R"(\p{N}{1,3})");
}
Patterns single_digits() {
  return cl100k(R"(\p{N})");
}
Patterns tekken() {
  return o200k("", R"(\p{N})");
}
Patterns gpt4o() {
  return o200k(kContraction + "?", R"(\p{N}{1,3})");
}

constexpr auto kRules = std::to_array<NamedRule>({
    {"", unnamed, kPlain},
    {"default", unnamed, kPlain},
    {"gpt-2", gpt2, kPlain},
    {"phi-2", gpt2, kPlain},
    {"roberta-bpe", gpt2, kPlain},
    {"jina-v1-en", gpt2, kPlain},
    {"jina-v2-es", gpt2, kPlain},
    {"jina-v2-de", gpt2, kPlain},
    {"jina-v2-code", gpt2, kPlain},
    {"jina-es", gpt2, kPlain},
    {"jina-de", gpt2, kPlain},
    {"gigachat", gpt2, kPlain},
    {"modern-bert", gpt2, kPlain},
    {"mellum", gpt2, kPlain},
    {"jais", gpt2, kPlain},
    {"exaone4", gpt2, kPlain},
    {"trillion", gpt2, kPlain},
    {"granite-docling", gpt2, kPlain},
    {"mpt", gpt2, kNfc},
    {"olmo", gpt2, kNfc},
    {"starcoder", single_digits_then_gpt2, kPlain},
    {"refact", single_digits_then_gpt2, kPlain},
    {"command-r", single_digits_then_gpt2, kNfc},
    {"smollm", single_digits_then_gpt2, kPlain},
    {"codeshell", single_digits_then_gpt2, kPlain},
    {"exaone", single_digits_then_gpt2, kPlain},
    {"minerva-7b", single_digits_then_gpt2, kPlain},
    {"llama-bpe", three_digits, kWholeWords | kAddBos},
    {"llama3", three_digits, kWholeWords | kAddBos},
    {"llama-v3", three_digits, kWholeWords | kAddBos},
    {"falcon3", three_digits, kWholeWords | kAddBos},
    {"falcon-h1", three_digits, kWholeWords | kAddBos},
    {"pixtral", three_digits, kWholeWords | kAddBos},
    {"lfm2", three_digits, kWholeWords | kAddBos},
    {"dbrx", three_digits, kPlain},
    {"smaug-bpe", three_digits, kPlain},
    {"chatglm-bpe", three_digits, kPlain},
    {"glm4", three_digits, kWholeWords},
    {"qwen2", single_digits, kNfc},
    {"deepseek-r1-qwen", single_digits, kNfc},
    {"megrez", single_digits, kNfc},
    {"stablelm2", single_digits, kPlain},
    {"hunyuan", single_digits, kPlain},
    {"grok-2", single_digits, kPlain},
    {"qwen35", cl100k_with_marks, kNfc},
    {"tekken", tekken, kWholeWords | kAddBos},
    {"gpt-4o", gpt4o, kPlain},
    {"llama4", gpt4o, kPlain},
    {"deepseek-llm", deepseek_llm, kPlain},
    {"deepseek-coder", deepseek_coder, kPlain},
    {"deepseek-v3", deepseek_v3, kPlain},
    {"hunyuan-dense", deepseek_v3, kPlain},
    {"falcon", falcon, kPlain},
    {"bloom", bloom, kPlain},
    {"poro-chat", bloom, kPlain},
    {"gpt3-finnish", bloom, kPlain},
    {"viking", bloom_with_single_digits, kPlain},
    {"bailingmoe", bailing_moe, kPlain},
    {"bailingmoe2", bailing_moe, kPlain},
    {"llada-moe", bailing_moe, kPlain},
    {"seed-coder", seed_coder, kPlain},
});

}  // namespace

Result<PreTokenizerRule> pre_tokenizer_rule(const std::string& name) {
  const auto* const found =
      std::find_if(kRules.begin(), kRules.end(), [&](const NamedRule& rule) { return rule.name == name; });
  if (found == kRules.end()) {
    return Error::invalid("tokenizer.ggml.pre", "tokenizer.ggml.pre: the pre-tokenizer \"" + name + "\" is not known");
  }
  PreTokenizerRule rule;
  rule.patterns = found->patterns();
  rule.whole_words = (found->options & kWholeWords) != 0;
  rule.normalize_nfc = (found->options & kNfc) != 0;
  rule.add_bos = (found->options & kAddBos) != 0;
  return rule;
}

}  // namespace takt
