// F1, F2, F3: any bytes given to the API's parsers end in a typed request whose values are in range, or in an error
// with a message.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "api/api_error.h"
#include "api/parse_request.h"
#include "api/template_context.h"

namespace {

using namespace takt::api;

void expect(bool holds) {
  if (!holds) __builtin_trap();
}

void check(const GenerationOptions& options, const ApiOptions& limits) {
  const takt::SamplingParams& sampling = options.sampling;
  for (const float value : {sampling.temperature, sampling.top_p, sampling.min_p, sampling.typical_p,
                            sampling.repetition_penalty, sampling.presence_penalty, sampling.frequency_penalty}) {
    expect(std::isfinite(value));
  }
  expect(options.choices >= 1 && options.choices <= limits.max_choices);
  expect(options.stops.size() <= limits.max_stops);
  expect(sampling.top_k >= 0 && sampling.top_logprobs >= -1);
  expect(!options.max_tokens || (*options.max_tokens >= 1 && options.min_tokens <= *options.max_tokens));
}

void check(const takt::Error& error) {
  expect(!error.message.empty());
  (void)error_body(to_api_error(error));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  ApiOptions options;
  options.strict = size % 2 == 1;
  if (const auto chat = parse_chat(body, options)) {
    check(chat->options, options);
    (void)template_context(chat->conversation, "<s>", "</s>");
  } else {
    check(chat.error());
  }
  if (const auto completion = parse_completion(body, options)) {
    check(completion->options, options);
    expect(!completion->prompts.empty());
  } else {
    check(completion.error());
  }
  (void)parse_tokenize(body, options);
  (void)parse_detokenize(body, options);
  return 0;
}
