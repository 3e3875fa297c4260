// Calls of the API over a socket.
#pragma once

#include <boost/json.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "e2e/http_client.h"

namespace takt::test {

inline std::string chat_json(std::string_view content, std::string_view fields = {}) {
  return R"({"messages":[{"role":"user","content":")" + std::string(content) + "\"}]" + (fields.empty() ? "" : ",") +
         std::string(fields) + "}";
}

inline std::optional<Reply> call_chat(std::uint16_t port, std::string_view content, std::string_view fields = {}) {
  return request(port, "POST", "/v1/chat/completions", chat_json(content, fields));
}

// The text of the first choice of a whole chat answer; the whole body when it is none.
inline std::string content_of(const Reply& reply) {
  boost::system::error_code code;
  const auto body = boost::json::parse(reply.body, code);
  const auto* text = code ? nullptr : body.find_pointer("/choices/0/message/content", code);
  return text != nullptr && text->is_string() ? std::string(text->get_string()) : reply.body;
}

inline std::string error_code_of(const Reply& reply) {
  boost::system::error_code code;
  const auto body = boost::json::parse(reply.body, code);
  const auto* text = code ? nullptr : body.find_pointer("/error/code", code);
  return text != nullptr && text->is_string() ? std::string(text->get_string()) : reply.body;
}

// A stream under way on a connection of its own.
class Stream {
 public:
  static std::optional<Stream> open(std::uint16_t port, const std::string& body) {
    auto connection = Connection::open(port);
    if (!connection || !connection->send(make_request("POST", "/v1/chat/completions", body))) return std::nullopt;
    return Stream(std::move(*connection));
  }

  // The head of the answer; waits for it. Empty when none comes.
  const std::optional<Reply>& head() {
    if (!head_) head_ = receive_head(connection_);
    return head_;
  }
  // All events to the end, as they came ("data" and comment lines apart).
  std::vector<ServerSentEvent> events() {
    std::vector<ServerSentEvent> all;
    if (!head()) return all;
    BodyReader body(connection_, *head_);
    EventReader reader(body);
    while (auto event = reader.next()) all.push_back(*event);
    complete_ = body.complete();
    return all;
  }
  // The first event with data.
  std::string first_data() {
    if (!head()) return {};
    BodyReader body(connection_, *head_);
    EventReader reader(body);
    while (auto event = reader.next()) {
      if (!event->data.empty()) return event->data;
    }
    return {};
  }
  bool complete() const { return complete_; }  // events() saw a clean end
  Connection& connection() { return connection_; }

 private:
  explicit Stream(Connection connection) : connection_(std::move(connection)) {}

  Connection connection_;
  std::optional<Reply> head_;
  bool complete_ = false;
};

// The text that a stream's events add up to.
inline std::string streamed_text(const std::vector<ServerSentEvent>& events) {
  std::string text;
  for (const ServerSentEvent& event : events) {
    boost::system::error_code code;
    const auto chunk = boost::json::parse(event.data, code);
    const auto* part = code ? nullptr : chunk.find_pointer("/choices/0/delta/content", code);
    if (part != nullptr && part->is_string()) text += part->get_string();
  }
  return text;
}

}  // namespace takt::test
