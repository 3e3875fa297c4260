// Reading what GET /admin/... of a server says. It is any JSON: whatever is not as expected counts as absent.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace takt::app {

// Errors: kIo, it is no JSON object.
Result<boost::json::object> parse_admin_answer(std::string_view body);

double number(const boost::json::object& from, std::string_view key);
bool has(const boost::json::object& from, std::string_view key);
// Fit for a terminal.
std::string text(const boost::json::object& from, std::string_view key);
const boost::json::object& object(const boost::json::object& from, std::string_view key);
std::vector<const boost::json::object*> objects(const boost::json::object& from, std::string_view key);

}  // namespace takt::app
