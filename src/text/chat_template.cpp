#include "text/chat_template.h"

#include <cstdint>
#include <utility>

#include "takt_bridge.h"

namespace takt {
namespace {

// Templates of publishers have up to 20 kB. The largest conversation is what a request body may hold; a prompt longer
// than the output limit fits no context. Publishers' templates take up to 4 steps per byte of conversation; 20 million
// steps are a few seconds.
constexpr takt_bridge_limits kLimits{
    .template_bytes = std::size_t{128} << 10,
    .context_bytes = std::size_t{64} << 20,
    .output_bytes = std::size_t{64} << 20,
    .fuel_base = 200'000,
    .fuel_per_byte = 64,
    .fuel_most = 20'000'000,
};

takt_bridge_view view_of(std::string_view text) {
  return {text.data(), text.size()};
}

std::string take(takt_bridge_text text) {
  std::string copy(text.data == nullptr ? "" : text.data, text.size);
  takt_bridge_text_free(text);
  return copy;
}

Error error_of(takt_bridge_status status, const char* field, std::string message) {
  switch (status) {
    case TAKT_BRIDGE_PANIC:
      return Error::internal(std::move(message));
    case TAKT_BRIDGE_RENDER:
      return Error::invalid(field, "the model's chat template cannot render this conversation: " + message);
    default:
      return Error::invalid(field, std::move(message));
  }
}

class BridgeTemplate final : public ChatTemplate {
 public:
  explicit BridgeTemplate(takt_bridge_template* compiled) : compiled_(compiled) {}
  ~BridgeTemplate() override { takt_bridge_template_free(compiled_); }
  BridgeTemplate(const BridgeTemplate&) = delete;
  BridgeTemplate& operator=(const BridgeTemplate&) = delete;

  Result<RenderedPrompt> render(const TemplateContext& context) const override {
    const takt_bridge_options options{
        .continue_final_message = static_cast<std::uint8_t>(context.continue_final_message),
        .alias_thinking = static_cast<std::uint8_t>(context.alias_thinking),
    };
    takt_bridge_prompt prompt{};
    takt_bridge_text error{};
    const auto status = takt_bridge_template_render(compiled_, view_of(context.json), options, &prompt, &error);
    if (status != TAKT_BRIDGE_OK) {
      return error_of(status, "messages", take(error));
    }
    RenderedPrompt rendered;
    rendered.text.assign(prompt.text.data == nullptr ? "" : prompt.text.data, prompt.text.size);
    rendered.untrusted.reserve(prompt.untrusted_count);
    for (std::size_t i = 0; i < prompt.untrusted_count; ++i) {
      rendered.untrusted.push_back({prompt.untrusted[i].begin, prompt.untrusted[i].end});
    }
    takt_bridge_prompt_free(prompt);
    return rendered;
  }

 private:
  takt_bridge_template* compiled_;
};

}  // namespace

Result<std::unique_ptr<ChatTemplate>> ChatTemplate::compile(std::string_view source,
                                                            std::vector<std::string> control_tokens) {
  std::vector<takt_bridge_view> views;
  views.reserve(control_tokens.size());
  for (const std::string& token : control_tokens) {
    views.push_back(view_of(token));
  }
  takt_bridge_template* compiled = nullptr;
  takt_bridge_text error{};
  const auto status =
      takt_bridge_template_compile(view_of(source), views.data(), views.size(), kLimits, &compiled, &error);
  if (status != TAKT_BRIDGE_OK) {
    return error_of(status, "chat_template", take(error));
  }
  return std::unique_ptr<ChatTemplate>(std::make_unique<BridgeTemplate>(compiled));
}

}  // namespace takt
