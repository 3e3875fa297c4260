// GET /admin/requests and /admin/requests/ID: what became of single requests.
#pragma once

#include <string_view>
#include <variant>

#include "api/api_error.h"
#include "serve/status_source.h"

namespace takt::serve {

// The body of the answer, or why there is none. `name`: as in x-request-id, or an answer's id.
std::variant<std::string, api::ApiError> request_answer(const StatusSource& status, std::string_view name);
// `query`: slowest=N or alive=N with N from 1 to 1000; empty: slowest=10.
std::variant<std::string, api::ApiError> requests_answer(const StatusSource& status, std::string_view query);

}  // namespace takt::serve
