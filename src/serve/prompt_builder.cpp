#include "serve/prompt_builder.h"

#include <optional>

#include "api/api_error.h"
#include "api/template_context.h"

namespace takt::serve {

namespace {

std::string_view spelling(const Tokenizer& tokenizer, std::optional<TokenId> token) {
  return token ? tokenizer.piece(*token, true) : std::string_view();
}

Status check_not_empty(const std::vector<TokenId>& tokens, const std::string& field) {
  if (tokens.empty())
    return Error::invalid(field, "'" + field + "' is empty: at least one token is needed to go on from");
  return {};
}

std::size_t most_counted(const ServedModel& model) {
  return kCountedContexts * model.max_request_tokens;
}

// Errors of the tokenizer speak of limits of its own: for the client they are about the field.
Error about(Error error, const ServedModel& model, const std::string& field) {
  if (error.code == ErrorCode::kContextLength)
    return api::context_length_far_exceeded(most_counted(model), model.max_request_tokens, field);
  if (error.code == ErrorCode::kResourceExhausted) error.code = ErrorCode::kInvalidArgument;
  error.field = field;
  return error;
}

// Both numbers stand in the error when not even one token of output would fit.
Status check_fits(const ServedModel& model, std::size_t prompt_tokens, const std::string& field) {
  if (prompt_tokens < model.max_request_tokens) return {};
  return api::context_length_exceeded(prompt_tokens, model.max_request_tokens, field);
}

bool in_vocabulary(const ServedModel& model, TokenId token) {
  return token >= 0 && static_cast<std::size_t>(token) < model.tokenizer->vocabulary().tokens.size();
}

Error unknown_token(const ServedModel& model, TokenId token, std::string path) {
  std::string message = "'" + path + "' is the token id " + std::to_string(token) + "; the model's vocabulary has " +
                        std::to_string(model.tokenizer->vocabulary().tokens.size()) + " tokens";
  return Error::invalid(std::move(path), std::move(message));
}

}  // namespace

Result<BuiltPrompt> build_chat_prompt(const ServedModel& model, const api::Conversation& conversation,
                                      Purpose purpose) {
  if (model.chat_template == nullptr) {
    const std::string why = model.template_error.empty()
                                ? "has no chat template"
                                : "has a chat template that cannot be used (" + model.template_error + ")";
    return Error{ErrorCode::kUnsupported, "The model '" + model.name + "' " + why + ": use /v1/completions",
                 "messages"};
  }
  const Tokenizer& tokenizer = *model.tokenizer;
  const ModelVocabulary& vocabulary = tokenizer.vocabulary();
  TemplateContext context;
  context.json =
      api::template_context(conversation, spelling(tokenizer, vocabulary.bos), spelling(tokenizer, vocabulary.eos));
  context.continue_final_message = conversation.continue_final_message;
  auto rendered = model.chat_template->render(context);
  if (!rendered) return rendered.error();

  EncodeOptions encode;
  encode.add_special = true;  // the tokenizer does not double a BOS that the template wrote
  encode.parse_special = true;
  encode.untrusted = rendered->untrusted;
  if (purpose == Purpose::kAnswer) encode.max_tokens = most_counted(model);
  auto tokens = tokenizer.encode(rendered->text, encode);
  if (!tokens) return about(tokens.error(), model, "messages");
  if (auto status = check_not_empty(*tokens, "messages"); !status) return status.error();
  if (purpose == Purpose::kAnswer) {
    if (auto fits = check_fits(model, tokens->size(), "messages"); !fits) return fits.error();
  }
  return BuiltPrompt{std::move(rendered->text), std::move(tokens).value()};
}

Result<BuiltPrompt> build_plain_prompt(const ServedModel& model, const api::Prompt& prompt, const std::string& field) {
  const Tokenizer& tokenizer = *model.tokenizer;
  BuiltPrompt built;
  if (const auto* ids = std::get_if<std::vector<TokenId>>(&prompt)) {
    if (auto status = check_in_vocabulary(model, *ids, field); !status) return status.error();
    if (auto fits = check_fits(model, ids->size(), field); !fits) return fits.error();
    built = {text_of(tokenizer, *ids), *ids};
  } else {
    built.text = std::get<std::string>(prompt);
    EncodeOptions encode;
    encode.add_special = true;
    encode.parse_special = true;
    encode.max_tokens = most_counted(model);
    auto tokens = tokenizer.encode(built.text, encode);
    if (!tokens) return about(tokens.error(), model, field);
    built.tokens = std::move(tokens).value();
    if (auto fits = check_fits(model, built.tokens.size(), field); !fits) return fits.error();
  }
  if (auto status = check_not_empty(built.tokens, field); !status) return status.error();
  return built;
}

std::string text_of(const Tokenizer& tokenizer, const std::vector<TokenId>& tokens) {
  std::string text;
  for (const TokenId token : tokens) text += tokenizer.piece(token, false);
  const ModelVocabulary& vocabulary = tokenizer.vocabulary();
  const bool adds_space = vocabulary.kind == "llama" && vocabulary.add_space_prefix.value_or(true);
  if (adds_space && text.starts_with(' ')) text.erase(0, 1);
  return text;
}

Status check_in_vocabulary(const ServedModel& model, const std::vector<TokenId>& tokens, const std::string& field) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (!in_vocabulary(model, tokens[i])) return unknown_token(model, tokens[i], field + "[" + std::to_string(i) + "]");
  }
  return {};
}

Status check_in_vocabulary(const ServedModel& model, const std::vector<LogitBias>& biases) {
  for (const LogitBias& bias : biases) {
    if (!in_vocabulary(model, bias.token))
      return unknown_token(model, bias.token, "logit_bias." + std::to_string(bias.token));
  }
  return {};
}

}  // namespace takt::serve
