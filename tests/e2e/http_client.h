// A blocking HTTP client for tests that shows what is really on the wire: raw bytes, half-closes, resets, chunks,
// server-sent events.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace takt::test {

// One TCP connection to 127.0.0.1. Every wait has a deadline, so that a test fails instead of hanging.
class Connection {
 public:
  struct Options {
    int receive_buffer_bytes = 0;  // of the kernel; 0: its choice
    std::chrono::milliseconds patience{20'000};
  };

  static std::optional<Connection> open(std::uint16_t port) { return open(port, Options{}); }
  static std::optional<Connection> open(std::uint16_t port, const Options& options);
  Connection(Connection&& other) noexcept;
  Connection& operator=(Connection&& other) noexcept;
  ~Connection();

  // False when the other side has gone.
  bool send(std::string_view bytes);
  // Some bytes; empty at the end of input, after a reset, or when patience is over (see state()).
  std::string receive(std::size_t at_most = 64 * 1024);
  // Bytes up to and with `delimiter`; empty when it does not come. What is read beyond stays for later calls.
  std::string receive_until(std::string_view delimiter);
  // Exactly `bytes`, or fewer at the end of input.
  std::string receive_exactly(std::size_t bytes);
  std::string receive_all();

  enum class State { kOpen, kEnded, kReset, kTimedOut };
  State state() const { return state_; }
  // Reads and drops until the other side closes or resets; true when it did.
  bool wait_closed();

  void half_close();  // no more bytes from here; still reads
  void close();
  void reset();  // closes with RST

 private:
  Connection(int fd, std::chrono::milliseconds patience) : fd_(fd), patience_(patience) {}
  bool fill();
  bool wait_for(short events) const;

  int fd_ = -1;
  std::chrono::milliseconds patience_;
  State state_ = State::kOpen;
  std::string buffer_;
};

struct Reply {
  int status = 0;
  std::string version;
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::string body;
  int interim = 0;        // 1xx answers before it
  bool complete = false;  // the body ended as its framing says

  // First header of that lower-case name; empty when absent.
  std::string header(std::string_view name) const;
};

// Reads the head of an answer (interim ones are skipped and counted). Empty when none comes.
std::optional<Reply> receive_head(Connection& connection);
// A whole answer. head_request: an answer to HEAD has no body.
std::optional<Reply> receive_reply(Connection& connection, bool head_request = false);

// "POST /path HTTP/1.1" with Host, Content-Type and Content-Length, and further header lines (each ending with CR LF).
std::string make_request(std::string_view method, std::string_view path, std::string_view body = {},
                         std::string_view header_lines = {});
// One request on a connection of its own.
std::optional<Reply> request(std::uint16_t port, std::string_view method, std::string_view path,
                             std::string_view body = {}, std::string_view header_lines = {});

// The body of an answer whose head has been read, piece by piece.
class BodyReader {
 public:
  BodyReader(Connection& connection, const Reply& head);
  // Some bytes of the body (for chunked answers: one chunk); empty at its end.
  std::string next();
  // The body ended as its framing says.
  bool complete() const { return complete_; }

 private:
  enum class Kind { kChunked, kLength, kUntilClose };
  std::string next_chunk();

  Connection& connection_;
  Kind kind_;
  std::size_t left_ = 0;
  bool ended_ = false;
  bool complete_ = false;
};

struct ServerSentEvent {
  std::string event;
  std::string data;     // lines joined by '\n'
  std::string comment;  // likewise; an event may be a comment only
};

// Server-sent events (HTML standard, section 9.2) out of a body.
class EventReader {
 public:
  explicit EventReader(BodyReader& body) : body_(body) {}
  // Empty at the end of the body.
  std::optional<ServerSentEvent> next();

 private:
  BodyReader& body_;
  std::string text_;
};

}  // namespace takt::test
