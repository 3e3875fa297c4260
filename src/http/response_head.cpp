#include "http/response_head.h"

#include <algorithm>
#include <array>
#include <boost/algorithm/string/predicate.hpp>
#include <boost/beast/http/status.hpp>
#include <cstdio>
#include <ctime>
#include <string_view>

namespace takt::http {
namespace {

constexpr std::array<std::string_view, 5> kServerOwned = {"content-length", "transfer-encoding", "connection", "date",
                                                          "content-type"};

// IMF-fixdate (RFC 9110, section 5.6.7), independent of the locale.
void append_date(std::string& out) {
  static constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                            "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  if (gmtime_r(&now, &utc) == nullptr) return;
  char text[64];
  const int length =
      std::snprintf(text, sizeof text, "Date: %s, %02d %s %d %02d:%02d:%02d GMT\r\n", kDays[utc.tm_wday], utc.tm_mday,
                    kMonths[utc.tm_mon], utc.tm_year + 1900, utc.tm_hour, utc.tm_min, utc.tm_sec);
  out.append(text, static_cast<std::size_t>(length));
}

bool fits_in_one_line(std::string_view name, std::string_view value) {
  const auto is_control = [](unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7f; };
  const auto is_separator = [&](unsigned char c) { return is_control(c) || c == ' ' || c == ':' || c == '\t'; };
  return !name.empty() && std::none_of(name.begin(), name.end(), is_separator) &&
         std::none_of(value.begin(), value.end(), is_control);
}

void append_header(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ").append(value).append("\r\n");
}

bool is_server_owned(std::string_view name) {
  return std::any_of(kServerOwned.begin(), kServerOwned.end(),
                     [&](std::string_view owned) { return boost::algorithm::iequals(owned, name); });
}

void append_given(std::string& out, const Headers& headers) {
  for (const auto& [name, value] : headers) {
    if (!is_server_owned(name) && fits_in_one_line(name, value)) append_header(out, name, value);
  }
}

}  // namespace

std::string_view version_prefix(const Framing& framing) {
  return framing.http11 ? "HTTP/1.1 " : "HTTP/1.0 ";
}

bool status_has_body(int status) {
  return status >= 200 && status != 204 && status != 304;
}

void append_head(std::string& out, const Response& response, const Framing& framing, BodyFraming body,
                 std::size_t body_bytes) {
  const int status = response.status < 100 || response.status > 999 ? 500 : response.status;
  const auto reason = boost::beast::http::obsolete_reason(static_cast<boost::beast::http::status>(status));
  out.append(version_prefix(framing)).append(std::to_string(status)).append(" ");
  out.append(reason.data(), reason.size()).append("\r\n");
  append_date(out);
  if (!response.content_type.empty() && fits_in_one_line("content-type", response.content_type)) {
    append_header(out, "Content-Type", response.content_type);
  }
  switch (body) {
    case BodyFraming::kLength:
      append_header(out, "Content-Length", std::to_string(body_bytes));
      break;
    case BodyFraming::kChunked:
      append_header(out, "Transfer-Encoding", "chunked");
      break;
    case BodyFraming::kNone:
    case BodyFraming::kUntilClose:
      break;
  }
  if (!framing.keep_alive) {
    append_header(out, "Connection", "close");
  } else if (!framing.http11) {
    append_header(out, "Connection", "keep-alive");
  }
  append_given(out, framing.extra);
  append_given(out, response.headers);
  out.append("\r\n");
}

}  // namespace takt::http
