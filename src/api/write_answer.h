// Typed answers -> JSON text in the shapes that OpenAI's clients read. Never fails: text that is not UTF-8 is written
// with replacement characters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/answer.h"

namespace takt::api {

// One chunk of a stream, without the "data: " around it.
std::string stream_chunk(const AnswerHead& head, const ChoiceDelta& delta);
// The chunk after the last choice, with `choices: []`, for streams that asked for usage.
std::string usage_chunk(const AnswerHead& head, const Usage& usage, const AnswerTimings& timings);
std::string whole_answer(const AnswerHead& head, const std::vector<ChoiceDelta>& choices, const Usage& usage,
                         const AnswerTimings& timings);

// The value of the header x-takt-timing: "request=..., queue=0.012, waited.seat=0.010, ...".
std::string timing_header(const AnswerTimings& timings);

std::string model_list(const std::vector<ModelCard>& models);
std::string model_card(const ModelCard& model);

// `prompt` is the rendered text of a conversation (empty for plain text), `pieces` the tokens' texts when they were
// asked for.
struct TokenizeAnswer {
  std::string model;
  std::vector<TokenId> tokens;
  std::uint32_t max_request_tokens = 0;
  std::string prompt;
  std::vector<std::string> pieces;
};
std::string tokenize_answer(const TokenizeAnswer& answer);
std::string detokenize_answer(std::string_view text);

// An event of a stream: "data: ...\n\n".
std::string sse_data(std::string_view json);
// A line that clients skip, to keep the connection alive.
std::string sse_comment(std::string_view text);
inline constexpr std::string_view kStreamEnd = "data: [DONE]\n\n";

}  // namespace takt::api
