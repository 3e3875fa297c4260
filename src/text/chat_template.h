// Chat messages -> the model's prompt, by the Jinja template in its file (rendered by minijinja through bridge/).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/tokenizer.h"

namespace takt {

// Everything a template may read, as JSON text (key order is kept): an object with messages, tools, documents and
// options merged into it. "now" (a local time, 2026-01-15T12:00:00) is the clock of strftime_now; without it the
// template finds no strftime_now. bos_token, eos_token and the like at the top level are the server's own: take them
// from the model, never from a caller. All other strings count as the caller's.
struct TemplateContext {
  std::string json;
  bool continue_final_message = false;  // end the prompt inside the last message; add_generation_prompt is then false
  bool alias_thinking =
      true;  // messages' reasoning_content can be read as "thinking" too, as Hugging Face's library does
};

struct RenderedPrompt {
  std::string text;
  std::vector<TextRange> untrusted;  // where the caller's words spell (part of) a control token: none that overlaps a
                                     // range may be recognised
};

// Compiled once per model. Thread-safe.
class ChatTemplate {
 public:
  // Errors: kInvalidArgument with the template's syntax error.
  // `control_tokens`: spellings of the model's control tokens, which must not be forged by message content.
  static Result<std::unique_ptr<ChatTemplate>> compile(std::string_view source,
                                                       std::vector<std::string> control_tokens);
  virtual ~ChatTemplate() = default;

  // Errors: kInvalidArgument, field "messages", with the template's own words (raise_exception) or the engine's (its
  // faults too); limits of steps, depth, size and time count.
  virtual Result<RenderedPrompt> render(const TemplateContext& context) const = 0;
};

}  // namespace takt
