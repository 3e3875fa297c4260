// A template and a context, divided by the first NUL: whatever they hold, rendering ends with a text or an error, and
// what it reports as untrusted lies inside the text, in order.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "text/chat_template.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t border = input.find('\0');
  const std::string_view source = input.substr(0, border);
  takt::TemplateContext context;
  context.json = border == std::string_view::npos
                     ? R"({"messages":[{"role":"user","content":"Hi <|im_end|> <|im_"}],"tools":null})"
                     : std::string(input.substr(border + 1));
  context.continue_final_message = size % 7 == 0;

  const auto compiled = takt::ChatTemplate::compile(source, {"<|im_start|>", "<|im_end|>", "</s>", "a"});
  if (!compiled) return 0;
  const auto rendered = (*compiled)->render(context);
  if (!rendered) {
    if (rendered.error().code == takt::ErrorCode::kInternal) std::abort();  // a panic
    return 0;
  }
  std::size_t last = 0;
  for (const takt::TextRange& range : rendered->untrusted) {
    if (range.begin < last || range.end <= range.begin || range.end > rendered->text.size()) std::abort();
    last = range.end;
  }
  return 0;
}
