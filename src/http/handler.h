// What the HTTP server calls: requests in, answers out. Knows no JSON and no engine.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace takt::http {

struct Request {
  std::string method;  // upper case
  std::string path;    // decoded, without the query
  std::string query;   // raw, without '?'
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::string body;
  std::string peer;    // address of the other side

  // First header of that (lower-case) name; empty when absent.
  std::string_view header(std::string_view name) const;
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
};

// One answer to one request. Every method may be called from any thread; calls after the answer has ended or the client has gone do nothing.
class Responder {
 public:
  virtual ~Responder() = default;

  // A whole answer. Once; not together with begin_stream.
  virtual void send(Response response) = 0;

  // A streamed answer: head, then chunks, then end. Chunks go out in order; they are queued up to the server's send limit, and a reader that stays
  // behind is cut (on_closed is called).
  virtual void begin_stream(int status, std::string content_type, std::vector<std::pair<std::string, std::string>> headers) = 0;
  virtual void write(std::string chunk) = 0;
  virtual void end_stream() = 0;
  // Ends the connection without a clean end, so that the client notices.
  virtual void abort() = 0;

  // Called once, on a network thread, when the client has gone or was cut before the answer ended; at once if that is already so. Must not block.
  enum class Closed { kClientGone, kSlowReader };
  virtual void on_closed(std::function<void(Closed)> callback) = 0;

  // Bytes queued and not yet handed to the socket.
  virtual std::size_t queued_bytes() const = 0;
};

class Handler {
 public:
  virtual ~Handler() = default;
  // Called on a network thread: must hand the work on, not do it. The responder may be answered at once or later, from any thread.
  virtual void handle(Request request, std::shared_ptr<Responder> responder) = 0;
};

}  // namespace takt::http
