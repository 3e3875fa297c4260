#include "chat_client.h"

#include <poll.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/json.hpp>
#include <chrono>
#include <utility>

#include "sse_reader.h"

namespace takt::app {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
namespace json = boost::json;
using boost::system::error_code;

constexpr int kLookMilliseconds = 50;

json::value request_body(const std::vector<ChatMessage>& conversation) {
  json::array messages;
  for (const auto& message : conversation) messages.push_back({{"role", message.role}, {"content", message.content}});
  return {{"messages", std::move(messages)}, {"stream", true}, {"stream_options", {{"include_usage", true}}}};
}

http::request<http::string_body> make_request(const ServerAddress& server,
                                              const std::vector<ChatMessage>& conversation) {
  http::request<http::string_body> request{http::verb::post, "/v1/chat/completions", 11};
  request.set(http::field::host, server.host + ":" + std::to_string(server.port));
  request.set(http::field::content_type, "application/json");
  if (!server.api_key.empty()) request.set(http::field::authorization, "Bearer " + server.api_key);
  request.body() = json::serialize(request_body(conversation));
  request.prepare_payload();
  return request;
}

Error io_error(const error_code& error) {
  return {ErrorCode::kIo, "the connection broke: " + error.message(), {}};
}

Error server_error(const json::value& body) {
  const auto* object = body.if_object();
  const auto* error = object == nullptr ? nullptr : object->if_contains("error");
  const auto* fields = error == nullptr ? nullptr : error->if_object();
  const auto* message = fields == nullptr ? nullptr : fields->if_contains("message");
  if (message == nullptr || !message->is_string())
    return {ErrorCode::kInternal, "the server's answer is not understood", {}};
  return {ErrorCode::kInvalidArgument, std::string(message->as_string()), {}};
}

json::value parse(const std::string& text) {
  error_code error;
  json::value value = json::parse(text, error);
  return error ? json::value() : value;
}

// Reads the events of one answer.
class AnswerReader {
 public:
  AnswerReader(ChatAnswer& answer, const std::function<void(std::string_view)>& on_text)
      : answer_(answer), on_text_(on_text) {}

  Status take(std::string_view bytes) {
    auto events = sse_.push(bytes);
    if (!events) return events.error();
    for (const auto& event : *events) {
      if (event == "[DONE]") {
        complete_ = true;
      } else if (auto status = take_event(parse(event)); !status) {
        return status;
      }
    }
    return {};
  }
  bool complete() const { return complete_; }

 private:
  Status take_event(const json::value& event) {
    const auto* object = event.if_object();
    if (object == nullptr || object->contains("error")) return server_error(event);
    error_code error;
    if (const auto* content = event.find_pointer("/choices/0/delta/content", error);
        content != nullptr && content->is_string()) {
      take_text(content->as_string());
    }
    if (const auto* tokens = event.find_pointer("/usage/completion_tokens", error);
        tokens != nullptr && tokens->is_number()) {
      answer_.times.tokens = tokens->to_number<std::uint32_t>(error);
    }
    return {};
  }

  void take_text(std::string_view text) {
    if (text.empty()) return;
    measure::note_tokens(answer_.times, std::chrono::steady_clock::now());
    answer_.text += text;
    on_text_(text);
  }

  ChatAnswer& answer_;
  const std::function<void(std::string_view)>& on_text_;
  SseReader sse_;
  bool complete_ = false;
};

// Waits for bytes, or for a while.
void wait_readable(asio::ip::tcp::socket& socket) {
  pollfd readable{socket.native_handle(), POLLIN, 0};
  ::poll(&readable, 1, kLookMilliseconds);
}

Status read_answer(asio::ip::tcp::socket& socket, ChatAnswer& answer, AnswerReader& reader,
                   const std::function<bool()>& should_stop) {
  boost::beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  parser.body_limit(boost::none);
  std::string error_body;
  while (!parser.is_done()) {
    if (should_stop()) {
      answer.stopped = true;
      return {};
    }
    error_code error;
    http::read_some(socket, buffer, parser, error);
    if (error == asio::error::would_block) {
      wait_readable(socket);
      continue;
    }
    if (error) return io_error(error);
    if (!parser.is_header_done()) continue;
    std::string bytes = std::exchange(parser.get().body(), {});
    if (parser.get().result() != http::status::ok) {
      error_body += bytes;
    } else if (auto status = reader.take(bytes); !status) {
      return status;
    }
  }
  if (parser.get().result() != http::status::ok) return server_error(parse(error_body));
  if (!reader.complete()) return Error{ErrorCode::kIo, "the answer ended early", {}};
  return {};
}

}  // namespace

Result<ChatAnswer> ask(const ServerAddress& server, const std::vector<ChatMessage>& conversation,
                       const std::function<void(std::string_view)>& on_text, const std::function<bool()>& should_stop) {
  asio::io_context context;
  asio::ip::tcp::resolver resolver(context);
  asio::ip::tcp::socket socket(context);
  error_code error;
  const auto endpoints = resolver.resolve(server.host, std::to_string(server.port), error);
  if (!error) asio::connect(socket, endpoints, error);
  if (error) {
    return Error{ErrorCode::kUnavailable,
                 "no server at " + server.host + ":" + std::to_string(server.port) + " (" + error.message() + ")",
                 {}};
  }
  ChatAnswer answer;
  answer.times.scheduled = answer.times.sent = std::chrono::steady_clock::now();
  http::write(socket, make_request(server, conversation), error);
  if (error) return io_error(error);
  socket.non_blocking(true, error);
  if (error) return io_error(error);
  AnswerReader reader(answer, on_text);
  if (auto status = read_answer(socket, answer, reader, should_stop); !status) return status.error();
  answer.times.end = std::chrono::steady_clock::now();
  return answer;
}

}  // namespace takt::app
