#include "serve/admin_requests.h"

#include <charconv>
#include <string>
#include <system_error>

#include "api/answer.h"

namespace takt::serve {

namespace {

constexpr std::size_t kDefaultMost = 10;
constexpr std::size_t kMost = 1000;

struct Asked {
  std::string_view name;
  WhichRequests which;
};
constexpr Asked kAsked[] = {{"slowest", WhichRequests::kSlowest}, {"alive", WhichRequests::kAlive}};

api::ApiError bad_query(std::string_view field, std::string message) {
  return api::to_api_error(Error::invalid(std::string(field), std::move(message)));
}

}  // namespace

std::variant<std::string, api::ApiError> request_answer(const StatusSource& status, std::string_view name) {
  const auto request = api::parse_request_name(name);
  if (!request) return bad_query("id", "A request's id is up to sixteen hexadecimal digits, as in x-request-id");
  auto body = status.request_json(*request);
  if (body) return std::move(*body);
  return api::ApiError{404,
                       "invalid_request_error",
                       "request_not_found",
                       "There is no such request, or it ended too long ago to be kept",
                       "id",
                       0,
                       {}};
}

std::variant<std::string, api::ApiError> requests_answer(const StatusSource& status, std::string_view query) {
  if (query.empty()) return status.requests_json(WhichRequests::kSlowest, kDefaultMost);
  for (const Asked& asked : kAsked) {
    if (!query.starts_with(asked.name) || !query.substr(asked.name.size()).starts_with('=')) continue;
    const std::string_view digits = query.substr(asked.name.size() + 1);
    std::size_t most = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), most);
    if (error != std::errc() || end != digits.data() + digits.size() || most < 1 || most > kMost)
      return bad_query(asked.name,
                       "'" + std::string(asked.name) + "' must be a whole number from 1 to " + std::to_string(kMost));
    return status.requests_json(asked.which, most);
  }
  return bad_query("query", "The one parameter here is slowest=N or alive=N");
}

}  // namespace takt::serve
