#include "load/server_url.h"

#include <algorithm>
#include <charconv>

namespace takt::load {
namespace {

constexpr std::uint16_t kHttpPort = 80;
constexpr std::uint16_t kHttpsPort = 443;
constexpr std::uint16_t kOwnPort = 8080;
constexpr std::size_t kMaxUrlBytes = 2048;

Error url_error(std::string why) {
  return Error::invalid("url", "the server's URL " + std::move(why));
}

Result<std::uint16_t> read_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || port == 0)
    return url_error("has a port that is no number from 1 to 65535");
  return port;
}

}  // namespace

std::string ServerUrl::authority() const {
  const std::string name = host.find(':') == std::string::npos ? host : "[" + host + "]";
  return port == (tls ? kHttpsPort : kHttpPort) ? name : name + ":" + std::to_string(port);
}

std::string ServerUrl::text() const {
  return (tls ? "https://" : "http://") + authority() + prefix;
}

Result<ServerUrl> parse_server_url(std::string_view text) {
  if (text.size() > kMaxUrlBytes) return url_error("is longer than 2048 bytes");
  if (!std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7F; }))
    return url_error("may have printable ASCII characters only, and no spaces");
  ServerUrl url;
  url.port = kOwnPort;
  if (const auto scheme = text.find("://"); scheme != std::string_view::npos) {
    const auto name = text.substr(0, scheme);
    if (name != "http" && name != "https") return url_error("begins with neither http:// nor https://");
    url.tls = name == "https";
    url.port = url.tls ? kHttpsPort : kHttpPort;
    text.remove_prefix(scheme + 3);
  }
  const auto slash = text.find('/');
  std::string_view authority = text.substr(0, slash);
  std::string_view path = slash == std::string_view::npos ? std::string_view() : text.substr(slash);
  if (authority.find('@') != std::string_view::npos) return url_error("may not hold a user or a password");
  if (authority.starts_with('[')) {
    const auto close = authority.find(']');
    if (close == std::string_view::npos) return url_error("has a '[' without ']'");
    url.host = authority.substr(1, close - 1);
    authority.remove_prefix(close + 1);
  } else {
    url.host = authority.substr(0, authority.find(':'));
    authority.remove_prefix(url.host.size());
  }
  if (url.host.empty()) return url_error("names no host");
  if (!authority.empty()) {
    if (authority.front() != ':') return url_error("has more after its host than a port");
    const auto port = read_port(authority.substr(1));
    if (!port) return port.error();
    url.port = *port;
  }
  if (path.find_first_of("?#") != std::string_view::npos) return url_error("may not have '?' or '#'");
  while (path.ends_with('/')) path.remove_suffix(1);
  if (path.ends_with("/v1")) path.remove_suffix(3);
  url.prefix = path;
  return url;
}

}  // namespace takt::load
