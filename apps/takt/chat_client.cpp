#include "chat_client.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/json.hpp>
#include <chrono>
#include <utility>

#include "api/sse_reader.h"

namespace takt::app {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace json = boost::json;
using boost::system::error_code;

constexpr int kLookMilliseconds = 50;
constexpr std::uint32_t kMaxHeadBytes = 16 * 1024;
constexpr std::size_t kMaxBufferedBytes = 64 * 1024;  // read and not yet understood: a head, the head of a chunk
constexpr std::size_t kMaxErrorBytes = 256 * 1024;

bool printable_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7F; });
}

json::object request_body(const std::vector<ChatMessage>& conversation, const AnswerSettings& settings) {
  json::array messages;
  for (const auto& message : conversation) messages.push_back({{"role", message.role}, {"content", message.content}});
  json::object body{{"messages", std::move(messages)}, {"stream", true}, {"stream_options", {{"include_usage", true}}}};
  if (settings.temperature) body["temperature"] = *settings.temperature;
  if (settings.max_tokens) body["max_tokens"] = *settings.max_tokens;
  return body;
}

beast::http::request<beast::http::string_body> make_request(const ServerAddress& server,
                                                            const std::vector<ChatMessage>& conversation,
                                                            const AnswerSettings& settings) {
  beast::http::request<beast::http::string_body> request{beast::http::verb::post, "/v1/chat/completions", 11};
  request.set(beast::http::field::host, authority(server));
  request.set(beast::http::field::content_type, "application/json");
  if (!server.api_key.empty()) request.set(beast::http::field::authorization, "Bearer " + server.api_key);
  request.body() = json::serialize(request_body(conversation, settings));
  request.prepare_payload();
  return request;
}

Error io_error(const error_code& error) {
  static const auto& not_http = make_error_code(beast::http::error::bad_version).category();
  if (error == beast::http::error::end_of_stream || error == beast::http::error::partial_message)
    return {ErrorCode::kIo, "the server closed the connection before its answer was complete", {}};
  const char* what =
      error.category() == not_http ? "the server's answer is not understood: " : "the connection broke: ";
  return {ErrorCode::kIo, what + error.message(), {}};
}

Error too_large(const char* what, std::size_t limit) {
  return {ErrorCode::kResourceExhausted, std::string(what) + " is larger than " + std::to_string(limit) + " bytes", {}};
}

Error server_error(const json::value& body) {
  error_code error;
  const auto* message = body.find_pointer("/error/message", error);
  if (message == nullptr || !message->is_string())
    return {ErrorCode::kInternal, "the server's answer is not understood", {}};
  return {ErrorCode::kInvalidArgument, std::string(message->as_string()), {}};
}

json::value parse(std::string_view text) {
  error_code error;
  json::value value = json::parse(json::string_view(text.data(), text.size()), error);
  return error ? json::value() : value;
}

// Reads the events of one answer.
class AnswerReader {
 public:
  AnswerReader(ChatAnswer& answer, const std::function<void(std::string_view)>& on_text)
      : answer_(answer), on_text_(on_text) {}

  Status take(std::string_view bytes) {
    return sse_.push(bytes, [this](std::string_view event) -> Status {
      if (event != "[DONE]") return take_event(parse(event));
      complete_ = true;
      return {};
    });
  }
  bool complete() const { return complete_; }

 private:
  Status take_event(const json::value& event) {
    const auto* object = event.if_object();
    const auto* failure = object == nullptr ? nullptr : object->if_contains("error");
    if (object == nullptr || (failure != nullptr && !failure->is_null())) return server_error(event);
    error_code error;
    if (const auto* content = event.find_pointer("/choices/0/delta/content", error);
        content != nullptr && content->is_string()) {
      if (auto status = take_text(content->as_string()); !status) return status;
    }
    if (const auto* tokens = event.find_pointer("/usage/completion_tokens", error);
        tokens != nullptr && tokens->is_number()) {
      answer_.times.tokens = tokens->to_number<std::uint32_t>(error);
    }
    if (const auto* model = object->if_contains("model");
        model != nullptr && model->is_string() && answer_.model.empty()) {
      answer_.model = model->as_string();
    }
    return {};
  }

  Status take_text(std::string_view text) {
    if (text.empty()) return {};
    if (answer_.text.size() + text.size() > kMaxAnswerBytes) return too_large("the answer", kMaxAnswerBytes);
    measure::note_tokens(answer_.times, std::chrono::steady_clock::now());
    answer_.text += text;
    on_text_(text);
    return {};
  }

  ChatAnswer& answer_;
  const std::function<void(std::string_view)>& on_text_;
  api::SseReader sse_;
  bool complete_ = false;
};

// One request and its answer over a connected socket that does not block.
class Exchange {
 public:
  Exchange(asio::ip::tcp::socket& socket, const std::function<bool()>& should_stop)
      : socket_(socket), should_stop_(should_stop) {
    parser_.header_limit(kMaxHeadBytes);
    parser_.body_limit(boost::none);  // a stream may be long: nothing of it is kept here
  }

  Status send(beast::http::request<beast::http::string_body> request) {
    beast::http::request_serializer<beast::http::string_body> serializer(request);
    while (!serializer.is_done() && !stopped()) {
      error_code error;
      beast::http::write_some(socket_, serializer, error);
      if (error == asio::error::would_block) {
        wait(POLLOUT);
      } else if (error == asio::error::broken_pipe || error == asio::error::connection_reset) {
        return {};  // a server that refuses does not read to the end: its answer says why
      } else if (error) {
        return io_error(error);
      }
    }
    return {};
  }

  Status receive(AnswerReader& answer) {
    while (!parser_.is_done() && !stopped()) {
      error_code error;
      const std::size_t room = kMaxBufferedBytes - buffer_.size();
      buffer_.commit(socket_.read_some(buffer_.prepare(room), error));
      if (error == asio::error::would_block) {
        wait(POLLIN);
        continue;
      }
      if (error == asio::error::eof) {
        error = beast::http::error::end_of_stream;
        if (parser_.got_some()) parser_.put_eof(error);
      }
      if (error) return io_error(error);
      if (auto status = parse_buffered(answer); !status) return status;
    }
    if (stopped_) return {};
    if (parser_.get().result() != beast::http::status::ok) return server_error(parse(refusal_));
    if (!answer.complete()) return io_error(beast::http::error::partial_message);
    return {};
  }

  // Whether the caller wanted an end before there was one.
  bool stopped() { return stopped_ = stopped_ || should_stop_(); }

 private:
  Status parse_buffered(AnswerReader& answer) {
    // Beast 1.81 asserts that it never sees an incomplete last chunk of less than this again.
    constexpr std::size_t kShortestEnd = 5;
    while (buffer_.size() >= needed_ && !parser_.is_done()) {
      std::array<char, 16 * 1024> piece;
      parser_.get().body() = {piece.data(), piece.size(), true};
      error_code error;
      buffer_.consume(parser_.put(buffer_.data(), error));
      const std::string_view bytes(piece.data(), piece.size() - parser_.get().body().size);
      if (auto status = take(bytes, answer); !status) return status;
      needed_ = 1;
      if (error == beast::http::error::need_more) {
        if (buffer_.size() == kMaxBufferedBytes) return too_large("a header of the server's answer", kMaxBufferedBytes);
        needed_ = std::max(buffer_.size() + 1, kShortestEnd);
      } else if (error && error != beast::http::error::need_buffer) {
        return io_error(error);
      }
    }
    return {};
  }

  Status take(std::string_view bytes, AnswerReader& answer) {
    if (bytes.empty()) return {};
    if (parser_.get().result() == beast::http::status::ok) return answer.take(bytes);
    refusal_ += bytes;
    if (refusal_.size() > kMaxErrorBytes) return too_large("the server's refusal", kMaxErrorBytes);
    return {};
  }

  // For a while, so that a stop is seen.
  void wait(short events) {
    pollfd ready{socket_.native_handle(), events, 0};
    ::poll(&ready, 1, kLookMilliseconds);
  }

  asio::ip::tcp::socket& socket_;
  const std::function<bool()>& should_stop_;
  boost::beast::flat_buffer buffer_{kMaxBufferedBytes};
  beast::http::response_parser<beast::http::buffer_body> parser_;
  std::size_t needed_ = 1;  // bytes before parsing goes on
  std::string refusal_;
  bool stopped_ = false;
};

Status connect(asio::io_context& context, asio::ip::tcp::socket& socket, const ServerAddress& server) {
  asio::ip::tcp::resolver resolver(context);
  error_code error;
  const auto endpoints = resolver.resolve(server.host, std::to_string(server.port), error);
  if (!error) asio::connect(socket, endpoints, error);
  if (error) {
    return Error{ErrorCode::kUnavailable, "no server at " + authority(server) + " (" + error.message() + ")", {}};
  }
  socket.non_blocking(true, error);
  if (error) return io_error(error);
  return {};
}

}  // namespace

Status check(const ServerAddress& server) {
  if (server.host.empty() || !printable_ascii(server.host))
    return Error::invalid("host", "host must be a name or an address, without spaces and control characters");
  if (!printable_ascii(server.api_key))
    return Error::invalid("api_key", "api_key may have printable ASCII characters only, and no spaces");
  return {};
}

std::string authority(const ServerAddress& server) {
  const bool six = server.host.find(':') != std::string::npos;
  return (six ? "[" + server.host + "]" : server.host) + ":" + std::to_string(server.port);
}

Result<ChatAnswer> ask(const ServerAddress& server, const std::vector<ChatMessage>& conversation,
                       const AnswerSettings& settings, const std::function<void(std::string_view)>& on_text,
                       const std::function<bool()>& should_stop) {
  if (const auto status = check(server); !status) return status.error();
  ChatAnswer answer;
  asio::io_context context;
  asio::ip::tcp::socket socket(context);
  Exchange exchange(socket, should_stop);
  if (const auto status = connect(context, socket, server); !status && !exchange.stopped()) return status.error();
  answer.times.scheduled = answer.times.sent = std::chrono::steady_clock::now();
  AnswerReader reader(answer, on_text);
  if (!exchange.stopped()) {
    if (const auto status = exchange.send(make_request(server, conversation, settings)); !status) return status.error();
    if (const auto status = exchange.receive(reader); !status) return status.error();
  }
  answer.stopped = exchange.stopped() && !reader.complete();
  answer.times.end = std::chrono::steady_clock::now();
  return answer;
}

}  // namespace takt::app
