// Who may use /admin/*: callers with an admin key; and, on a server without any key that only its own machine can
// reach, callers of that machine.
#pragma once

#include <string_view>

#include "http/handler.h"

namespace takt::serve {

struct AdminDoor {
  bool has_keys = false;     // the server knows keys, so one is needed
  bool local_admin = false;  // it listens on loopback: see ServeOptions
};

// Everything below /admin, whether it exists or not.
bool is_admin_path(std::string_view path);

// `has_admin_key`: of the caller. Without keys the peer must be this machine and must speak for itself: no proxy (a
// forwarding header) and no page of a foreign site (Host and Origin name loopback; a name that was rebound to 127.0.0.1
// does not).
bool may_administer(const AdminDoor& door, bool has_admin_key, const http::Request& head);

}  // namespace takt::serve
