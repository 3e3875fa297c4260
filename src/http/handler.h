// What the HTTP server calls: requests in, answers out. Knows no JSON and no engine.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace takt::http {

using Headers = std::vector<std::pair<std::string, std::string>>;

// What a handler found out about a request's head, for itself when the whole request comes.
class HeadNote {
 public:
  virtual ~HeadNote() = default;
};

struct Request {
  std::string method;  // upper case
  std::string path;    // decoded, without the query
  std::string query;   // raw, without '?'
  Headers headers;     // names in lower case, in the order they came; trailers are left out
  std::string body;
  std::string peer;                        // address of the other side, without its port
  std::shared_ptr<const HeadNote> note{};  // of refuse_by_head; null: it was not asked, or left none

  // First header of that (lower-case) name; empty when absent.
  std::string_view header(std::string_view name) const;
};

// Headers that frame the message (Content-Length, Transfer-Encoding, Connection, Date) are the server's: those given
// here are left out, and so is a header whose name or value could not stand in one line.
struct Response {
  int status = 200;
  std::string content_type = "application/json";
  Headers headers;
  std::string body;
};

// One answer to one request. Every method may be called from any thread and returns without waiting for the network;
// calls after the answer has ended or the client has gone do nothing. A responder that is dropped without an answer
// answers 500; one dropped inside a stream aborts it.
class Responder {
 public:
  virtual ~Responder() = default;

  // A whole answer. Once; not together with begin_stream.
  virtual void send(Response response) = 0;

  // A streamed answer: head, then chunks, then end. The head goes out at once. Chunks go out in order; they are queued
  // up to the server's send limit, and a reader that stays behind is cut (on_closed is called). Empty chunks are
  // ignored.
  virtual void begin_stream(int status, std::string content_type, Headers headers) = 0;
  virtual void write(std::string chunk) = 0;
  virtual void end_stream() = 0;
  // Sends what is queued, then ends the connection without a clean end, so that the client notices.
  virtual void abort() = 0;

  // Called once, on a network thread, when the client has gone or was cut before the answer ended; at once, on the
  // calling thread, if that is already so. Never called after send, end_stream or abort. Must not block.
  enum class Closed { kClientGone, kSlowReader };
  virtual void on_closed(std::function<void(Closed)> callback) = 0;

  // Bytes queued and not yet handed to the socket.
  virtual std::size_t queued_bytes() const = 0;
};

class Handler {
 public:
  virtual ~Handler() = default;
  // Called on a network thread at the end of a request's head when a body is announced, before anything of the body is
  // asked for or kept. An answer refuses the request: it is sent, the body is not read, and the connection closes.
  // `head` has no body; a note left in it comes back with the whole request. Default: no refusal.
  virtual std::optional<Response> refuse_by_head(Request& head);
  // Called on a network thread: must hand the work on, not do it. The responder may be answered at once or later, from
  // any thread. The next request of the same connection is not handed over before this one's answer has ended.
  virtual void handle(Request request, std::shared_ptr<Responder> responder) = 0;
};

}  // namespace takt::http
