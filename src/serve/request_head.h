// What a request's head says about it, for routing.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/handler.h"
#include "route/router.h"

namespace takt::serve {

// Headers x-takt-* and the path. What only the body says is empty.
route::Wishes wishes_of(const http::Request& head);

// A header that decides something (a key, x-takt-*) and stands there twice with different values: whoever stands
// between may have read the other one.
std::optional<Error> contradiction_in(const http::Request& head);

// The caller's supersede key, apart from those of everybody else.
std::string supersede_key(const route::Subject& subject, std::string_view key);

}  // namespace takt::serve
