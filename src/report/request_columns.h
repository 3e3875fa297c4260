// The requests of a run as columns of JSON and back. Instants are nanoseconds after the begin of the measured window.
#pragma once

#include <boost/json/object.hpp>

#include "base/result.h"
#include "measure/answer_sample.h"

namespace takt::report {

boost::json::object to_columns(const measure::MeasuredRun& run);
// Gaps come back as a single one, the worst. Errors: as read_report (report_json.h).
Result<measure::MeasuredRun> from_columns(const boost::json::object& columns);

}  // namespace takt::report
