// A record as a line of JSON, and back: one table of fields for both, so that they cannot differ. Strict: a field that
// is unknown or missing is an error (docs/trace.md has the list).
#pragma once

#include <boost/json/object.hpp>
#include <string>

#include "base/result.h"
#include "trace/record.h"

namespace takt::trace {

// Appends "{...", without the closing brace.
void append_record_fields(std::string& out, const Record& record);
// Errors: kInvalidArgument with the field's name. `skip`: a field that is none of the record's.
Result<Record> record_of(const boost::json::object& fields, const char* skip);

}  // namespace takt::trace
