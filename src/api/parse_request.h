// Request bodies (JSON text) -> typed requests.
//
// Errors: kInvalidArgument (wrong JSON, type, range, size) and kUnsupported (known, but not offered here, and it would
// change the answer). `field` is the JSON path of the value at fault, the message holds the limit. A field that is not
// known is ignored unless ApiOptions::strict.
#pragma once

#include <string_view>

#include "api/generation_request.h"
#include "api/options.h"
#include "base/result.h"

namespace takt::api {

Result<ChatRequest> parse_chat(std::string_view body, const ApiOptions& options);
Result<CompletionRequest> parse_completion(std::string_view body, const ApiOptions& options);
Result<TokenizeRequest> parse_tokenize(std::string_view body, const ApiOptions& options);
Result<DetokenizeRequest> parse_detokenize(std::string_view body, const ApiOptions& options);

}  // namespace takt::api
