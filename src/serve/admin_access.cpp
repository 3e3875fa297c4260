#include "serve/admin_access.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace takt::serve {

namespace {

constexpr const char* kForwardingHeaders[] = {"forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via"};

bool is_loopback_address(std::string_view address) {
  constexpr std::string_view kMapped = "::ffff:";
  if (address.starts_with(kMapped)) address.remove_prefix(kMapped.size());
  if (address == "::1") return true;
  const bool digits = std::all_of(address.begin(), address.end(),
                                  [](char c) { return c == '.' || std::isdigit(static_cast<unsigned char>(c)) != 0; });
  return digits && address.starts_with("127.") && std::count(address.begin(), address.end(), '.') == 3;
}

// HOST, HOST:PORT or [ADDRESS]:PORT.
bool is_loopback_authority(std::string_view authority) {
  if (authority.starts_with('[')) {
    const std::size_t close = authority.find(']');
    return close != std::string_view::npos && is_loopback_address(authority.substr(1, close - 1));
  }
  std::string host(authority.substr(0, authority.find(':')));
  std::transform(host.begin(), host.end(), host.begin(), [](unsigned char c) { return std::tolower(c); });
  return host == "localhost" || is_loopback_address(host);
}

bool is_loopback_origin(std::string_view origin) {
  const std::size_t scheme = origin.find("://");
  return scheme != std::string_view::npos && is_loopback_authority(origin.substr(scheme + 3));
}

}  // namespace

bool is_admin_path(std::string_view path) {
  return path == "/admin" || path.starts_with("/admin/");
}

bool may_administer(const AdminDoor& door, bool has_admin_key, const http::Request& head) {
  if (door.has_keys) return has_admin_key;
  if (!door.local_admin || !is_loopback_address(head.peer)) return false;
  for (const char* header : kForwardingHeaders) {
    if (!head.header(header).empty()) return false;
  }
  const std::string_view host = head.header("host");
  const std::string_view origin = head.header("origin");
  return (host.empty() || is_loopback_authority(host)) && (origin.empty() || is_loopback_origin(origin));
}

}  // namespace takt::serve
