#include "http_get.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <boost/json.hpp>
#include <charconv>
#include <chrono>

namespace takt::app {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace json = boost::json;
using boost::system::error_code;

constexpr auto kGetPatience = std::chrono::seconds(30);

Error bad_url() {
  return Error::invalid("url", "url must be http://HOST:PORT");
}

// Runs one asynchronous operation to its end: only those of Beast know of time.
template <typename Start>
error_code run_one(asio::io_context& context, beast::tcp_stream& stream, Start start) {
  error_code result;
  stream.expires_after(kGetPatience);
  start([&result](error_code error, auto&&...) { result = error; });
  context.restart();
  context.run();
  return result;
}

Error refusal_of(unsigned status, const std::string& body) {
  error_code error;
  const json::value parsed = json::parse(body, error);
  const auto* message = error ? nullptr : parsed.find_pointer("/error/message", error);
  if (message == nullptr || !message->is_string())
    return {ErrorCode::kInvalidArgument, "the server answered " + std::to_string(status), {}};
  return {ErrorCode::kInvalidArgument, std::string(message->as_string()), {}};
}

}  // namespace

Result<ServerAddress> parse_url(std::string_view url) {
  constexpr std::string_view kScheme = "http://";
  constexpr std::uint16_t kHttpPort = 80;
  ServerAddress server;
  if (url.starts_with("https://"))
    return Error::invalid("url", "url must begin with http://: https is for a proxy in front, ask behind it");
  if (url.starts_with(kScheme)) {
    url.remove_prefix(kScheme.size());
    server.port = kHttpPort;
  }
  if (url.ends_with('/')) url.remove_suffix(1);
  const bool bracketed = url.starts_with('[');
  const std::size_t host_end = bracketed ? url.find(']') : url.find(':');
  if (bracketed && host_end == std::string_view::npos) return bad_url();
  server.host = std::string(bracketed ? url.substr(1, host_end - 1) : url.substr(0, host_end));
  std::string_view rest = host_end == std::string_view::npos ? "" : url.substr(host_end + (bracketed ? 1 : 0));
  if (!rest.empty()) {
    if (!rest.starts_with(':')) return bad_url();
    rest.remove_prefix(1);
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), server.port);
    if (error != std::errc() || end != rest.data() + rest.size() || server.port == 0) return bad_url();
  }
  if (server.host.empty() || server.host.find('/') != std::string::npos) return bad_url();
  return server;
}

Result<std::string> http_get(const ServerAddress& server, const std::string& target) {
  if (const auto status = check(server); !status) return status.error();
  asio::io_context context;
  asio::ip::tcp::resolver resolver(context);
  beast::tcp_stream stream(context);
  const std::string where = authority(server);
  error_code error;
  const auto endpoints = resolver.resolve(server.host, std::to_string(server.port), error);
  if (!error) error = run_one(context, stream, [&](auto done) { stream.async_connect(endpoints, done); });
  if (error) return Error{ErrorCode::kUnavailable, "no server at " + where + " (" + error.message() + ")", {}};

  beast::http::request<beast::http::empty_body> request{beast::http::verb::get, target, 11};
  request.set(beast::http::field::host, where);
  request.set(beast::http::field::connection, "close");
  if (!server.api_key.empty()) request.set(beast::http::field::authorization, "Bearer " + server.api_key);
  error = run_one(context, stream, [&](auto done) { beast::http::async_write(stream, request, done); });
  beast::flat_buffer buffer;
  beast::http::response_parser<beast::http::string_body> parser;
  parser.body_limit(kMaxAnswerBytes);
  if (!error)
    error = run_one(context, stream, [&](auto done) { beast::http::async_read(stream, buffer, parser, done); });
  if (error == beast::error::timeout)
    return Error{ErrorCode::kUnavailable, "the server at " + where + " does not answer", {}};
  if (error) return Error{ErrorCode::kIo, "the connection to " + where + " broke: " + error.message(), {}};
  if (parser.get().result() != beast::http::status::ok)
    return refusal_of(parser.get().result_int(), parser.get().body());
  return std::move(parser.get().body());
}

}  // namespace takt::app
