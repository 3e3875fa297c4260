// The transport in earnest: HTTP/1.1 over TCP or TLS, thousands of exchanges at a time on the caller's thread.
// Connections are kept and used again; one that its server closes meanwhile is let go of before anybody uses it.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "load/server_url.h"
#include "load/transport.h"

namespace takt::load {

struct TransportOptions {
  std::string api_key;      // sent as a bearer; may be empty
  bool verify_peer = true;  // TLS: certificates are checked against the system's
  std::string ca_file;      // TLS: trusted beside the system's; may be empty
};

// Resolves the host once and raises the process's limit of open files as far as it goes. Errors: kInvalidArgument (a
// key that fits into no header, a CA file that cannot be read), kUnavailable (no such host).
Result<std::unique_ptr<Transport>> make_asio_transport(const ServerUrl& url, const TransportOptions& options);

}  // namespace takt::load
