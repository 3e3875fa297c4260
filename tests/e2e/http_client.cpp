#include "e2e/http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>

namespace takt::test {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

std::optional<Reply> parse_head(std::string_view head) {
  Reply reply;
  std::size_t line_end = head.find("\r\n");
  const std::string_view status_line = head.substr(0, line_end);
  if (!status_line.starts_with("HTTP/") || status_line.size() < 12) return std::nullopt;
  reply.version = status_line.substr(5, 3);
  std::from_chars(status_line.data() + 9, status_line.data() + 12, reply.status);
  head.remove_prefix(line_end + 2);
  while ((line_end = head.find("\r\n")) != std::string_view::npos && line_end > 0) {
    const std::string_view line = head.substr(0, line_end);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    std::string_view value = line.substr(colon + 1);
    value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
    reply.headers.emplace_back(lower(line.substr(0, colon)), std::string(value));
    head.remove_prefix(line_end + 2);
  }
  return reply;
}

}  // namespace

std::optional<Connection> Connection::open(std::uint16_t port, const Options& options) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return std::nullopt;
  Connection connection(fd, options.patience);
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (options.receive_buffer_bytes > 0) {
    ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &options.receive_buffer_bytes, sizeof options.receive_buffer_bytes);
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return std::nullopt;
  return connection;
}

Connection::Connection(Connection&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      patience_(other.patience_),
      state_(other.state_),
      buffer_(std::move(other.buffer_)) {}

Connection& Connection::operator=(Connection&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = std::exchange(other.fd_, -1);
    patience_ = other.patience_;
    state_ = other.state_;
    buffer_ = std::move(other.buffer_);
  }
  return *this;
}

Connection::~Connection() {
  close();
}

bool Connection::wait_for(short events) const {
  pollfd entry{fd_, events, 0};
  int ready = 0;
  do {
    ready = ::poll(&entry, 1, static_cast<int>(patience_.count()));
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

bool Connection::send(std::string_view bytes) {
  while (!bytes.empty()) {
    if (!wait_for(POLLOUT)) return false;
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (sent < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool Connection::fill() {
  if (state_ != State::kOpen) return false;
  if (!wait_for(POLLIN)) {
    state_ = State::kTimedOut;
    return false;
  }
  char bytes[16 * 1024];
  const ssize_t got = ::recv(fd_, bytes, sizeof bytes, 0);
  if (got <= 0) {
    state_ = got == 0 ? State::kEnded : State::kReset;
    return false;
  }
  buffer_.append(bytes, static_cast<std::size_t>(got));
  return true;
}

std::string Connection::receive(std::size_t at_most) {
  if (buffer_.empty()) fill();
  std::string out = buffer_.substr(0, at_most);
  buffer_.erase(0, out.size());
  return out;
}

std::string Connection::receive_until(std::string_view delimiter) {
  std::size_t at = 0;
  while ((at = buffer_.find(delimiter)) == std::string::npos) {
    if (!fill()) return {};
  }
  std::string out = buffer_.substr(0, at + delimiter.size());
  buffer_.erase(0, out.size());
  return out;
}

std::string Connection::receive_exactly(std::size_t bytes) {
  while (buffer_.size() < bytes && fill()) {
  }
  return receive(bytes);
}

std::string Connection::receive_all() {
  while (fill()) {
  }
  return std::exchange(buffer_, {});
}

bool Connection::wait_closed() {
  receive_all();
  return state_ == State::kEnded || state_ == State::kReset;
}

void Connection::half_close() {
  ::shutdown(fd_, SHUT_WR);
}

void Connection::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

void Connection::reset() {
  const linger now{1, 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  close();
}

std::string Reply::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return {};
}

std::optional<Reply> receive_head(Connection& connection) {
  int interim = 0;
  while (true) {
    const std::string head = connection.receive_until("\r\n\r\n");
    auto reply = parse_head(head);
    if (!reply) return std::nullopt;
    if (reply->status >= 200) {
      reply->interim = interim;
      return reply;
    }
    ++interim;
  }
}

std::optional<Reply> receive_reply(Connection& connection, bool head_request) {
  auto reply = receive_head(connection);
  if (!reply) return std::nullopt;
  if (head_request || reply->status == 204 || reply->status == 304) {
    reply->complete = true;
    return reply;
  }
  BodyReader body(connection, *reply);
  for (std::string part = body.next(); !part.empty(); part = body.next()) reply->body += part;
  reply->complete = body.complete();
  return reply;
}

std::string make_request(std::string_view method, std::string_view path, std::string_view body,
                         std::string_view header_lines) {
  std::string text;
  text.append(method).append(" ").append(path).append(" HTTP/1.1\r\nHost: 127.0.0.1\r\n").append(header_lines);
  if (!body.empty()) {
    text.append("Content-Type: application/json\r\nContent-Length: ")
        .append(std::to_string(body.size()))
        .append("\r\n");
  }
  return text.append("\r\n").append(body);
}

std::optional<Reply> request(std::uint16_t port, std::string_view method, std::string_view path, std::string_view body,
                             std::string_view header_lines) {
  auto connection = Connection::open(port);
  if (!connection || !connection->send(make_request(method, path, body, header_lines))) return std::nullopt;
  return receive_reply(*connection, method == "HEAD");
}

BodyReader::BodyReader(Connection& connection, const Reply& head) : connection_(connection), kind_(Kind::kUntilClose) {
  const std::string length = head.header("content-length");
  if (lower(head.header("transfer-encoding")) == "chunked") {
    kind_ = Kind::kChunked;
  } else if (!length.empty()) {
    kind_ = Kind::kLength;
    std::from_chars(length.data(), length.data() + length.size(), left_);
  }
}

std::string BodyReader::next() {
  if (ended_) return {};
  std::string part;
  switch (kind_) {
    case Kind::kChunked:
      part = next_chunk();
      break;
    case Kind::kLength:
      if (left_ > 0) part = connection_.receive(left_);
      left_ -= part.size();
      complete_ = left_ == 0;
      break;
    case Kind::kUntilClose:
      part = connection_.receive();
      complete_ = part.empty() && connection_.state() == Connection::State::kEnded;
      break;
  }
  ended_ = part.empty();
  return part;
}

std::string BodyReader::next_chunk() {
  const std::string line = connection_.receive_until("\r\n");
  std::size_t size = 0;
  if (line.empty() || std::from_chars(line.data(), line.data() + line.size(), size, 16).ec != std::errc()) return {};
  std::string chunk = connection_.receive_exactly(size);
  if (chunk.size() < size || connection_.receive_exactly(2) != "\r\n") return {};
  complete_ = size == 0;
  return chunk;
}

std::optional<ServerSentEvent> EventReader::next() {
  std::size_t end = 0;
  while ((end = text_.find("\n\n")) == std::string::npos) {
    const std::string part = body_.next();
    if (part.empty()) return std::nullopt;
    text_ += part;
    std::erase(text_, '\r');
  }
  ServerSentEvent event;
  std::string_view block(text_.data(), end + 1);
  while (!block.empty()) {
    const std::string_view line = block.substr(0, block.find('\n'));
    block.remove_prefix(line.size() + 1);
    const std::size_t colon = line.find(':');
    const std::string_view name = line.substr(0, colon);
    std::string_view value = colon == std::string_view::npos ? std::string_view() : line.substr(colon + 1);
    if (value.starts_with(' ')) value.remove_prefix(1);
    std::string& field = name == "data" ? event.data : name.empty() ? event.comment : event.event;
    if (name != "data" && name != "event" && !name.empty()) continue;
    if (!field.empty() && name != "event") field += '\n';
    field += value;
  }
  text_.erase(0, end + 2);
  return event;
}

}  // namespace takt::test
