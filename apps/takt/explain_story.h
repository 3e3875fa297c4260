// What GET /admin/requests tells, as text for people.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace takt::app {

// `json`: the answer to GET /admin/requests/ID. Errors: kIo, it is not understood.
Result<std::string> request_story(std::string_view json);
// `json`: the answer to GET /admin/requests: a line each, with its largest cause.
Result<std::string> requests_table(std::string_view json);

}  // namespace takt::app
