// Every limit of the HTTP server with its default.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace takt::http {

// What a request may be. Over the limit: 414 (target), 431 (head), 413 (body).
struct RequestLimits {
  std::size_t target_bytes = std::size_t{8} * 1024;
  std::size_t head_bytes = std::size_t{16} * 1024;  // request line and all headers
  std::size_t header_count = 100;
  std::size_t body_bytes = std::size_t{32} * 1024 * 1024;
};

struct Timeouts {
  std::chrono::milliseconds header{10'000};  // from a request's first byte to the end of its head; then 408
  // While a body is sent, at least body_progress_bytes (or the rest, when less is missing) must come in every window of
  // this length; else 408.
  std::chrono::milliseconds body_progress{30'000};
  std::size_t body_progress_bytes = std::size_t{16} * 1024;
  std::chrono::milliseconds idle{75'000};            // a connection without a request; closed without a word
  std::chrono::milliseconds write_progress{30'000};  // the client takes not one byte of what is queued; cut
  // After the last answer of a connection, what still comes in is read and dropped this long, so that the answer is not
  // lost with a reset.
  std::chrono::milliseconds linger{5'000};
  // A client that closed its sending side is asked whether it still reads (see Server): at once, after this time, and
  // then after twice as long each time.
  std::chrono::milliseconds half_close_probe{5'000};
};

struct ServerOptions {
  std::string host = "127.0.0.1";  // address or name
  std::uint16_t port = 8080;       // 0: the system chooses
  int threads = 1;                 // network threads
  int backlog = 1024;

  RequestLimits request;
  Timeouts timeouts;

  std::size_t connections = 4096;           // over it: 503
  std::size_t connections_per_peer = 2048;  // over it: 429; a proxy in front is one peer

  std::size_t stream_queue_bytes =
      std::size_t{1024} * 1024;  // chunks queued for one stream; a reader that stays further behind is cut
  // Bytes read ahead (pipelined requests) while an answer is under way. Then reading pauses, so pipelining is bounded
  // by bytes, not by a count.
  std::size_t read_ahead_bytes = std::size_t{64} * 1024;
  std::size_t socket_send_buffer_bytes = 0;  // the kernel's buffer per connection; 0: the kernel's choice

  // Origins whose pages may call this server from a browser: an exact origin ("https://chat.example"), a prefix
  // ("app://*"), "loopback" (http and https pages of localhost, 127.0.0.0/8 and [::1], any port) or "*" (everyone). A
  // page of this server's own origin always may. A request with another Origin is refused (403), not just left without
  // CORS headers: a server without a key on the user's own machine must not work for every page that the user visits.
  // Web pages cannot take on the schemes of installed applications. Credentials (cookies) are never allowed.
  std::vector<std::string> cors_allowed_origins = {"loopback", "app://*", "file://*", "tauri://*",
                                                   "vscode-webview://*"};
};

}  // namespace takt::http
