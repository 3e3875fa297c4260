// The requests that are alive, as a table for people.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace takt::app {

// `json`: the answer to GET /admin/requests?alive=N. A line that counts them by state, one of headings, then one for
// each request; rates are tokens a second of computing, over its life so far. Errors: kIo, it is not understood.
Result<std::string> live_table(std::string_view json);

}  // namespace takt::app
