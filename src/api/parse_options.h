// The fields that chat and plain completions share. Internal to this folder.
#pragma once

#include "api/generation_request.h"
#include "api/json_fields.h"
#include "api/options.h"

namespace takt::api {

// Everything of GenerationOptions but logprobs, which the two endpoints write differently.
GenerationOptions read_options(FieldReader& fields, const ApiOptions& limits);

}  // namespace takt::api
