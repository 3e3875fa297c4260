#include "api/write_answer.h"

#include <boost/json.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "api/utf8_text.h"

namespace takt::api {

namespace json = boost::json;

namespace {

constexpr std::size_t kRequestNameDigits = 16;
// JSON has no infinities: what was banned gets a logprob that no real token has.
constexpr double kLowestLogprob = -9999.0;

json::value logprob_value(float logprob) {
  if (std::isnan(logprob)) return kLowestLogprob;
  return std::clamp(static_cast<double>(logprob), kLowestLogprob, 0.0);
}

json::array byte_values(std::string_view bytes) {
  json::array values;
  values.reserve(bytes.size());
  for (const char c : bytes) values.emplace_back(static_cast<unsigned char>(c));
  return values;
}

json::object chat_token(std::string_view bytes, float logprob) {
  json::object token;
  token["token"] = token_label(bytes, "");
  token["logprob"] = logprob_value(logprob);
  token["bytes"] = byte_values(bytes);
  return token;
}

json::object chat_logprobs(const std::vector<ScoredToken>& tokens) {
  json::array content;
  content.reserve(tokens.size());
  for (const ScoredToken& scored : tokens) {
    json::object token = chat_token(scored.bytes, scored.logprob.value_or(0.0F));
    json::array top;
    for (const auto& [bytes, logprob] : scored.top) top.emplace_back(chat_token(bytes, logprob));
    token["top_logprobs"] = std::move(top);
    content.emplace_back(std::move(token));
  }
  return {{"content", std::move(content)}, {"refusal", nullptr}};
}

json::object completion_logprobs(const std::vector<ScoredToken>& tokens) {
  json::array texts, logprobs, tops, offsets;
  for (const ScoredToken& scored : tokens) {
    texts.emplace_back(token_label(scored.bytes, "bytes:"));
    offsets.emplace_back(scored.text_offset);
    if (!scored.logprob) {
      logprobs.emplace_back(nullptr);
      tops.emplace_back(nullptr);
      continue;
    }
    logprobs.emplace_back(logprob_value(*scored.logprob));
    json::object top;
    for (const auto& [bytes, logprob] : scored.top)
      top.insert({{token_label(bytes, "bytes:"), logprob_value(logprob)}});
    // As the API's own clients expect, the chosen token is always among them.
    top.insert({{token_label(scored.bytes, "bytes:"), logprob_value(*scored.logprob)}});
    tops.emplace_back(std::move(top));
  }
  return {{"tokens", std::move(texts)},
          {"token_logprobs", std::move(logprobs)},
          {"top_logprobs", std::move(tops)},
          {"text_offset", std::move(offsets)}};
}

json::value logprobs_value(const AnswerHead& head, const std::vector<ScoredToken>& tokens, bool always) {
  if (!head.logprobs || (tokens.empty() && !always)) return nullptr;
  return head.kind == AnswerKind::kChat ? chat_logprobs(tokens) : completion_logprobs(tokens);
}

json::value finish_value(const ChoiceDelta& choice) {
  if (!choice.finish) return nullptr;
  return *choice.finish == FinishReason::kLength ? "length" : "stop";
}

json::object head_fields(const AnswerHead& head, bool chunk) {
  json::object fields;
  fields["id"] = head.id;
  fields["object"] = head.kind == AnswerKind::kCompletion ? "text_completion"
                     : chunk                              ? "chat.completion.chunk"
                                                          : "chat.completion";
  fields["created"] = head.created;
  fields["model"] = to_utf8(head.model);
  return fields;
}

json::object usage_fields(const Usage& usage) {
  json::object fields;
  fields["prompt_tokens"] = usage.prompt_tokens;
  fields["completion_tokens"] = usage.completion_tokens;
  fields["total_tokens"] = usage.prompt_tokens + usage.completion_tokens;
  fields["prompt_tokens_details"] = json::object{{"cached_tokens", usage.cached_tokens}};
  return fields;
}

json::object timing_fields(const AnswerTimings& timings) {
  json::object waited;
  for (const auto& [reason, duration] : timings.waited) waited[reason] = to_seconds(duration);
  json::object fields;
  fields["request"] = timings.request;
  fields["seed"] = timings.seed;
  fields["preparing_seconds"] = to_seconds(timings.preparing);
  fields["queue_seconds"] = to_seconds(timings.queue);
  fields["prefill_seconds"] = to_seconds(timings.prefill);
  fields["decode_seconds"] = to_seconds(timings.decode);
  fields["ttft_seconds"] = to_seconds(timings.ttft);
  fields["total_seconds"] = to_seconds(timings.total);
  fields["cached_tokens"] = timings.cached_tokens;
  fields["preemptions"] = timings.preemptions;
  fields["waited_seconds"] = std::move(waited);
  return fields;
}

json::object card_fields(const ModelCard& model) {
  json::object fields;
  fields["id"] = to_utf8(model.name);
  fields["object"] = "model";
  fields["created"] = model.created;
  fields["owned_by"] = "takt";
  fields["max_model_len"] = model.max_request_tokens;
  return fields;
}

json::array token_array(const std::vector<TokenId>& tokens) {
  json::array ids;
  ids.reserve(tokens.size());
  for (const TokenId id : tokens) ids.emplace_back(id);
  return ids;
}

}  // namespace

std::string stream_chunk(const AnswerHead& head, const ChoiceDelta& delta) {
  json::object choice;
  choice["index"] = delta.index;
  if (head.kind == AnswerKind::kChat) {
    json::object fields;
    if (delta.first) fields["role"] = "assistant";
    if (delta.first || !delta.text.empty()) fields["content"] = to_utf8(delta.text);
    choice["delta"] = std::move(fields);
  } else {
    choice["text"] = to_utf8(delta.text);
  }
  choice["logprobs"] = logprobs_value(head, delta.tokens, false);
  choice["finish_reason"] = finish_value(delta);

  json::object chunk = head_fields(head, true);
  json::array choices;
  choices.emplace_back(std::move(choice));
  chunk["choices"] = std::move(choices);
  if (head.include_usage) chunk["usage"] = nullptr;
  return json::serialize(chunk);
}

std::string usage_chunk(const AnswerHead& head, const Usage& usage, const AnswerTimings& timings) {
  json::object chunk = head_fields(head, true);
  chunk["choices"] = json::array();
  chunk["usage"] = usage_fields(usage);
  chunk["takt"] = timing_fields(timings);
  return json::serialize(chunk);
}

std::string whole_answer(const AnswerHead& head, const std::vector<ChoiceDelta>& choices, const Usage& usage,
                         const AnswerTimings& timings) {
  json::array list;
  list.reserve(choices.size());
  for (const ChoiceDelta& choice : choices) {
    json::object fields;
    fields["index"] = choice.index;
    if (head.kind == AnswerKind::kChat) {
      fields["message"] = json::object{{"role", "assistant"}, {"content", to_utf8(choice.text)}, {"refusal", nullptr}};
    } else {
      fields["text"] = to_utf8(choice.text);
    }
    fields["logprobs"] = logprobs_value(head, choice.tokens, true);
    fields["finish_reason"] = finish_value(choice);
    list.emplace_back(std::move(fields));
  }
  json::object answer = head_fields(head, false);
  answer["choices"] = std::move(list);
  answer["usage"] = usage_fields(usage);
  answer["takt"] = timing_fields(timings);
  return json::serialize(answer);
}

std::string timing_header(const AnswerTimings& timings) {
  std::string header = "request=" + timings.request;
  const auto add = [&](const std::string& name, Duration duration) {
    char number[32];
    std::snprintf(number, sizeof number, "%.6f", to_seconds(duration));
    header += ", " + name + "=" + number;
  };
  add("preparing", timings.preparing);
  add("queue", timings.queue);
  for (const auto& [reason, duration] : timings.waited) add("waited." + reason, duration);
  add("prefill", timings.prefill);
  add("decode", timings.decode);
  add("ttft", timings.ttft);
  add("total", timings.total);
  header += ", cached_tokens=" + std::to_string(timings.cached_tokens);
  header += ", preemptions=" + std::to_string(timings.preemptions);
  return header;
}

std::string model_list(const std::vector<ModelCard>& models) {
  json::array data;
  for (const ModelCard& model : models) data.emplace_back(card_fields(model));
  return json::serialize(json::object{{"object", "list"}, {"data", std::move(data)}});
}

std::string model_card(const ModelCard& model) {
  return json::serialize(card_fields(model));
}

std::string tokenize_answer(const TokenizeAnswer& answer) {
  json::object fields;
  fields["model"] = to_utf8(answer.model);
  fields["count"] = answer.tokens.size();
  fields["max_model_len"] = answer.max_request_tokens;
  fields["tokens"] = token_array(answer.tokens);
  if (!answer.prompt.empty()) fields["prompt"] = to_utf8(answer.prompt);
  if (!answer.pieces.empty()) {
    json::array pieces;
    for (const std::string& piece : answer.pieces) pieces.emplace_back(token_label(piece, "bytes:"));
    fields["pieces"] = std::move(pieces);
  }
  return json::serialize(fields);
}

std::string detokenize_answer(std::string_view text) {
  return json::serialize(json::object{{"text", to_utf8(text)}});
}

std::string sse_data(std::string_view json) {
  std::string event;
  event.reserve(json.size() + 8);
  event.append("data: ").append(json).append("\n\n");
  return event;
}

std::string sse_comment(std::string_view text) {
  return ": " + std::string(text) + "\n\n";
}

std::string request_name(RequestId request) {
  char name[17];
  std::snprintf(name, sizeof name, "%016llx", static_cast<unsigned long long>(request.value));
  return name;
}

std::optional<RequestId> parse_request_name(std::string_view name) {
  for (const std::string_view prefix : {"chatcmpl-", "cmpl-"}) {
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  }
  RequestId request;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), request.value, 16);
  const bool whole = error == std::errc() && end == name.data() + name.size();
  return whole && name.size() <= kRequestNameDigits ? std::optional(request) : std::nullopt;
}

std::string answer_id(AnswerKind kind, RequestId request) {
  return (kind == AnswerKind::kChat ? "chatcmpl-" : "cmpl-") + request_name(request);
}

}  // namespace takt::api
