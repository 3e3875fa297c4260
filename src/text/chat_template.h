// Chat messages -> the model's prompt, by the Jinja template in its file (rendered by minijinja through bridge/).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/tokenizer.h"

namespace takt {

// Everything a template may read, as JSON text (key order is kept): an object with messages, tools, documents and options merged into it.
struct TemplateContext {
  std::string json;
  bool continue_final_message = false;
};

struct RenderedPrompt {
  std::string text;
  std::vector<TextRange> untrusted;  // where the caller's own words hold the spelling of a control token (see chat_template.cpp)
};

// Compiled once per model. Thread-safe.
class ChatTemplate {
 public:
  // Errors: kInvalidArgument with the template's syntax error.
  // `control_tokens`: spellings of the model's control tokens, which must not be forged by message content.
  static Result<std::unique_ptr<ChatTemplate>> compile(std::string_view source, std::vector<std::string> control_tokens);
  virtual ~ChatTemplate() = default;

  // Errors: kInvalidArgument, field "messages", with the template's own words (raise_exception) or the engine's; fuel, depth and size limits count.
  virtual Result<RenderedPrompt> render(const TemplateContext& context) const = 0;
};

}  // namespace takt
