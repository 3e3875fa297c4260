// C10, C14: any bytes become tokens of the vocabulary, and untrusted ones never a control token. Their number is a
// limit that is kept, and one less is not.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tiny_vocabularies.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace takt;
  static const auto tokenizers = fuzz::tiny_tokenizers();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const TextRange all{0, size};
  for (const auto& tokenizer : tokenizers) {
    const auto count = static_cast<TokenId>(tokenizer->vocabulary().tokens.size());
    for (const bool untrusted : {false, true}) {
      EncodeOptions options;
      options.parse_special = true;
      if (untrusted) options.untrusted = {&all, 1};
      const auto ids = tokenizer->encode(text, options);
      if (!ids) continue;
      options.max_tokens = ids->size();
      if (!tokenizer->encode(text, options)) __builtin_trap();
      if (!ids->empty()) {
        options.max_tokens = ids->size() - 1;
        if (tokenizer->encode(text, options)) __builtin_trap();
      }
      for (const TokenId id : *ids) {
        if (id < 0 || id >= count) __builtin_trap();
        if (untrusted && tokenizer->vocabulary().types[static_cast<std::size_t>(id)] == TokenType::kControl)
          __builtin_trap();
      }
    }
  }
  return 0;
}
