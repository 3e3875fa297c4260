#include "api/parse_request.h"

#include <exception>

#include "api/json_document.h"
#include "api/json_fields.h"
#include "api/parse_messages.h"
#include "api/parse_options.h"

namespace takt::api {

namespace json = boost::json;

namespace {

// The frame of every endpoint: parse, read the fields, look for unknown ones. `read(fields)` makes the request.
template <typename Request, typename Read>
Result<Request> read_body(std::string_view body, const ApiOptions& options, Read read) {
  try {
    auto document = parse_object(body, options);
    if (!document) return document.error();
    FieldReader fields(document->get_object(), "");
    Request request = read(fields);
    if (options.strict) fields.refuse_unread();
    if (!fields.status()) return fields.status().error();
    return request;
  } catch (const std::exception& failure) {  // the JSON library reports only exhausted memory this way
    return Error::internal(std::string("The request body could not be read: ") + failure.what());
  }
}

void read_chat_logprobs(FieldReader& fields, const ApiOptions& limits, SamplingParams& sampling) {
  const bool wanted = fields.boolean("logprobs").value_or(false);
  const auto top = fields.integer("top_logprobs", 0, limits.max_top_logprobs);
  if (!wanted) {
    if (top.value_or(0) > 0) fields.fail("top_logprobs", "needs \"logprobs\": true");
    return;
  }
  sampling.top_logprobs = static_cast<std::int32_t>(top.value_or(0));
}

Prompt text_prompt(const json::string& text) {
  return std::string(text.data(), text.size());
}

// A list is one prompt of token ids, a list of texts, or a list of lists of ids.
void read_prompt_list(FieldReader& fields, const json::array& list, const ApiOptions& limits,
                      std::vector<Prompt>& prompts) {
  if (list.empty()) return fields.fail("prompt", "must not be an empty list");
  if (list[0].is_number()) {
    if (auto ids = fields.token_ids("prompt", limits.max_prompt_tokens)) prompts.emplace_back(std::move(*ids));
    return;
  }
  if (list.size() > limits.max_prompts) {
    return fields.fail("prompt", "holds " + std::to_string(list.size()) + " prompts; the limit is " +
                                     std::to_string(limits.max_prompts));
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string name = "prompt[" + std::to_string(i) + "]";
    if (const json::string* text = list[i].if_string()) {
      prompts.push_back(text_prompt(*text));
    } else if (const json::array* ids = list[i].if_array()) {
      auto tokens = read_token_ids(*ids, name, limits.max_prompt_tokens);
      if (!tokens) return fields.fail_with(tokens.error());
      if (tokens->empty()) return fields.fail(name, "must hold at least one token id");
      prompts.emplace_back(std::move(tokens).value());
    } else {
      return fields.fail(name, "must be a string or a list of token ids, not " + std::string(kind_name(list[i])));
    }
  }
}

std::vector<Prompt> read_prompts(FieldReader& fields, const ApiOptions& limits) {
  std::vector<Prompt> prompts;
  const json::value* prompt = fields.any("prompt");
  if (prompt == nullptr) {
    fields.fail("prompt", "must be a string, a list of token ids, or a list of either");
  } else if (const json::string* text = prompt->if_string()) {
    prompts.push_back(text_prompt(*text));
  } else if (const json::array* list = prompt->if_array()) {
    read_prompt_list(fields, *list, limits, prompts);
  } else {
    fields.fail("prompt",
                "must be a string, a list of token ids, or a list of either, not " + std::string(kind_name(*prompt)));
  }
  return prompts;
}

// The text under the first of its names that is there.
std::optional<std::string> read_text(FieldReader& fields) {
  for (const std::string_view name : {"text", "content", "prompt"}) {
    if (auto text = fields.string(name, std::string::npos)) return text;
  }
  return std::nullopt;
}

}  // namespace

Result<ChatRequest> parse_chat(std::string_view body, const ApiOptions& options) {
  return read_body<ChatRequest>(body, options, [&](FieldReader& fields) {
    ChatRequest request;
    request.options = read_options(fields, options);
    read_chat_logprobs(fields, options, request.options.sampling);
    request.conversation = read_conversation(fields, options);
    if (fields.any("echo") != nullptr && fields.boolean("echo").value_or(false)) {
      fields.fail("echo", "is only supported on /v1/completions", ErrorCode::kUnsupported);
    }
    return request;
  });
}

Result<CompletionRequest> parse_completion(std::string_view body, const ApiOptions& options) {
  return read_body<CompletionRequest>(body, options, [&](FieldReader& fields) {
    CompletionRequest request;
    request.options = read_options(fields, options);
    request.prompts = read_prompts(fields, options);
    request.echo = fields.boolean("echo").value_or(false);
    if (const auto top = fields.integer("logprobs", 0, options.max_top_logprobs)) {
      request.options.sampling.top_logprobs = static_cast<std::int32_t>(*top);
    }
    const std::uint64_t choices = std::uint64_t{request.options.choices} * request.prompts.size();
    if (choices > options.max_choices) {
      fields.fail("n", "times the number of prompts is " + std::to_string(choices) + "; the limit is " +
                           std::to_string(options.max_choices));
    }
    return request;
  });
}

Result<TokenizeRequest> parse_tokenize(std::string_view body, const ApiOptions& options) {
  return read_body<TokenizeRequest>(body, options, [&](FieldReader& fields) {
    TokenizeRequest request;
    request.model = fields.string("model", options.max_name_bytes).value_or("");
    request.add_special = fields.boolean("add_special").value_or(true);
    request.parse_special = fields.boolean("parse_special").value_or(true);
    request.with_pieces = fields.boolean("with_pieces").value_or(false);
    if (auto text = read_text(fields)) {
      request.input = std::move(*text);
    } else if (fields.any("messages") != nullptr) {
      request.input = read_conversation(fields, options);
    } else {
      fields.fail("text", "must be a string (or send 'messages')");
    }
    return request;
  });
}

Result<DetokenizeRequest> parse_detokenize(std::string_view body, const ApiOptions& options) {
  return read_body<DetokenizeRequest>(body, options, [&](FieldReader& fields) {
    DetokenizeRequest request;
    request.model = fields.string("model", options.max_name_bytes).value_or("");
    if (auto ids = fields.token_ids("tokens", options.max_prompt_tokens)) {
      request.tokens = std::move(*ids);
    } else {
      fields.fail("tokens", "must be a list of token ids");
    }
    return request;
  });
}

}  // namespace takt::api
