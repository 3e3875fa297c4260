#include "http/origin_policy.h"

#include <algorithm>
#include <boost/algorithm/string/predicate.hpp>
#include <boost/asio/ip/address.hpp>
#include <utility>

namespace takt::http {
namespace {

constexpr std::string_view kAllowedMethods = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

// "https://name:port" -> "name:port"; empty for other schemes.
std::string_view web_authority(std::string_view origin) {
  for (std::string_view scheme : {"http://", "https://"}) {
    if (boost::algorithm::istarts_with(origin, scheme)) return origin.substr(scheme.size());
  }
  return {};
}

bool is_loopback(std::string_view origin) {
  std::string_view authority = web_authority(origin);
  if (authority.empty()) return false;
  std::string_view host;
  if (authority.front() == '[') {
    const std::size_t close = authority.find(']');
    if (close == std::string_view::npos) return false;
    host = authority.substr(1, close - 1);
  } else {
    host = authority.substr(0, authority.find(':'));
  }
  if (boost::algorithm::iequals(host, "localhost")) return true;
  boost::system::error_code ec;
  const auto address = boost::asio::ip::make_address(std::string(host), ec);
  return !ec && address.is_loopback();
}

}  // namespace

OriginPolicy::OriginPolicy(std::vector<std::string> allowed) : allowed_(std::move(allowed)) {
  everyone_ = std::find(allowed_.begin(), allowed_.end(), "*") != allowed_.end();
}

bool OriginPolicy::allows(std::string_view origin, std::string_view host) const {
  if (everyone_) return true;
  const std::string_view authority = web_authority(origin);
  if (!authority.empty() && boost::algorithm::iequals(authority, host)) return true;
  return std::any_of(allowed_.begin(), allowed_.end(), [&](std::string_view entry) {
    if (entry == "loopback") return is_loopback(origin);
    if (entry.ends_with('*')) return boost::algorithm::istarts_with(origin, entry.substr(0, entry.size() - 1));
    return boost::algorithm::iequals(origin, entry);
  });
}

Headers OriginPolicy::answer_headers(std::string_view origin) const {
  Headers headers = {{"Access-Control-Allow-Origin", everyone_ ? std::string("*") : std::string(origin)},
                     {"Access-Control-Expose-Headers", "*"}};
  if (!everyone_) headers.emplace_back("Vary", "Origin");
  return headers;
}

bool is_preflight(const Request& request) {
  return request.method == "OPTIONS" && !request.header("origin").empty() &&
         !request.header("access-control-request-method").empty();
}

Response answer_preflight(const Request& request) {
  Response response;
  response.status = 204;
  response.content_type.clear();
  response.headers = {{"Access-Control-Allow-Methods", std::string(kAllowedMethods)},
                      {"Access-Control-Max-Age", "600"}};
  const std::string_view wanted = request.header("access-control-request-headers");
  if (!wanted.empty()) response.headers.emplace_back("Access-Control-Allow-Headers", std::string(wanted));
  if (request.header("access-control-request-private-network") == "true") {
    response.headers.emplace_back("Access-Control-Allow-Private-Network", "true");
  }
  return response;
}

}  // namespace takt::http
