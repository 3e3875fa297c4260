// A request's body as a JSON document whose numbers are exact. Internal to this folder.
#pragma once

#include <boost/json.hpp>

#include <string_view>

#include "api/options.h"
#include "base/result.h"

namespace takt::api {

// Parses a document whose root is an object. Depth and UTF-8 are checked while parsing. A number is
//  - an integer when it is one of 64 bits, however it is written (5, 5.0, 5e0; not inside template_kwargs, where the
//    way it is written matters to templates);
//  - the double nearest to it otherwise;
//  - NaN when no double stands for it: an integer of more than 64 bits, too large, or not 0 and yet too close to it.
//    Readers refuse it by name.
Result<boost::json::value> parse_object(std::string_view body, const ApiOptions& options);

}  // namespace takt::api
