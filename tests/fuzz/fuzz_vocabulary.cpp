// Any vocabulary ends in a tokenizer or an error: the first byte picks the kind, the rest are tokens, merges and a
// charsmap.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tiny_vocabularies.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace takt;
  if (size == 0) return 0;
  constexpr std::array<const char*, 5> kKinds{"gpt2", "llama", "gemma4", "t5", "bert"};
  ModelVocabulary vocabulary = fuzz::tiny_vocabulary(kKinds[data[0] % kKinds.size()], "default");
  const std::string_view rest(reinterpret_cast<const char*>(data + 1), size - 1);
  vocabulary.precompiled_charsmap.assign(data + 1, data + size);
  for (std::size_t at = 0; at < rest.size();) {
    const std::size_t end = std::min(rest.find('\n', at), rest.size());
    vocabulary.tokens.emplace_back(rest.substr(at, end - at));
    vocabulary.types.push_back(static_cast<TokenType>(1 + data[at] % 6));
    vocabulary.scores.push_back(static_cast<float>(data[at]) - 128.0F);
    if (data[at] % 2 == 0) vocabulary.merges.emplace_back(rest.substr(at, end - at));
    at = end + 1;
  }
  const auto tokenizer = Tokenizer::create(std::move(vocabulary));
  if (!tokenizer) return 0;
  (void)(*tokenizer)->encode(rest, {true, true, {}, false});
  for (TokenId id = -1; id < 300; ++id) (void)(*tokenizer)->piece(id, true);
  return 0;
}
