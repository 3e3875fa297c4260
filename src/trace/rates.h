// Rates over time, client by client, as ServeGen publishes them (Xiang et al., arXiv 2505.09999): windows of equal
// length, each with the rate and the coefficient of variation of the gaps of every client.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "trace/arrivals.h"

namespace takt::trace {

struct RateWindow {
  double rps = 0.0;
  double cv = 0.0;  // of the gaps; 0: not stated
};

struct RateTable {
  struct Client {
    std::string name;
    std::vector<RateWindow> windows;
  };
  Duration window{0};
  std::vector<double> total_rps;  // of all clients, also of those without columns
  std::vector<Client> clients;
};

// Whether a file's first line says that it is one: t_s, total_rps, then NAME_rps and NAME_cv.
bool is_rate_table(std::string_view header);
// Errors: kIo; kInvalidArgument with FILE:LINE: a value, windows of unequal length, more than 100 MB.
Result<RateTable> read_rates(const std::string& path);

// The course of one client's rate, times `scale`, with its own burstiness in every window. Errors: kInvalidArgument: it
// never has a rate.
Result<std::unique_ptr<RateProfile>> rates_of(const RateTable& table, const RateTable::Client& client, double scale);

}  // namespace takt::trace
