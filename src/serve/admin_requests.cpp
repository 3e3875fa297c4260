#include "serve/admin_requests.h"

#include <charconv>
#include <string>
#include <system_error>

#include "api/answer.h"

namespace takt::serve {

namespace {

constexpr std::size_t kDefaultSlowest = 10;
constexpr std::size_t kMostSlowest = 1000;

api::ApiError bad_query(const char* field, std::string message) {
  return api::to_api_error(Error::invalid(field, std::move(message)));
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
  constexpr std::string_view kSlowest = "slowest=";
  std::size_t most = kDefaultSlowest;
  if (!query.empty()) {
    if (!query.starts_with(kSlowest)) return bad_query("query", "The one parameter here is slowest=N");
    query.remove_prefix(kSlowest.size());
    const auto [end, error] = std::from_chars(query.data(), query.data() + query.size(), most);
    if (error != std::errc() || end != query.data() + query.size() || most < 1 || most > kMostSlowest)
      return bad_query("slowest", "'slowest' must be a whole number from 1 to " + std::to_string(kMostSlowest));
  }
  return status.slowest_requests_json(most);
}

}  // namespace takt::serve
