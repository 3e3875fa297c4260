// The HTTP/1.0 and 1.1 server: listens, reads requests within limits, calls the handler, sends its answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/clock.h"
#include "base/result.h"
#include "http/handler.h"
#include "http/hooks.h"
#include "http/options.h"

namespace takt::http {

// Answered by the server itself, with bodies from Hooks::render_error: 400, 403 (origin), 408, 413, 414, 415, 417, 431,
// 501, 505; 429 and 503 for connections over their limits; 500 for a responder that was dropped. CORS preflights get
// 204.
//
// Clients that go away are seen in every phase. One that closes only its sending side after a complete request
// ("half-close") gets its whole answer: it looks like one that has gone, so it is sent the first byte of its answer
// early, or a leading zero of a chunk's size inside a stream, and counts as gone when its system answers with a reset.
// A client that reads sees exactly the answer that it would have seen anyway.
class Server {
 public:
  // handler must outlive the server. Fails with kIo (field "host" or "port") when the address is not ours or the port
  // is taken.
  static Result<std::unique_ptr<Server>> start(ServerOptions options, Hooks hooks, Handler& handler);
  // As stop().
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::uint16_t port() const;

  // None of these may be called on a network thread (from a handler or a hook).
  // Closes the listening socket and idle connections. Requests under way go on; every answer that begins from now on
  // closes its connection.
  void stop_accepting();
  // Waits until no request is read or answered; false when some still is after `wait`.
  bool wait_idle(Duration wait);
  // Ends everything at once: clients see a reset, on_closed callbacks run. After it the handler is not called any more.
  void stop();

  std::size_t open_connections() const;
  std::size_t requests_in_progress() const;

 private:
  struct State;
  explicit Server(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace takt::http
