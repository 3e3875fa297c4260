// In which form a scraper wants the metrics.
#pragma once

#include <string_view>

namespace takt::serve {

// `accept`: the header (RFC 9110, section 12.5.1). OpenMetrics where it is named and not liked less than plain text.
bool wants_open_metrics(std::string_view accept);

}  // namespace takt::serve
