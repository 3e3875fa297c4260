// HTTP/1.1 answers out of bytes, with the body handed on as it comes. Nothing of a body is kept.
#pragma once

#include <boost/beast/http/basic_parser.hpp>
#include <charconv>
#include <functional>
#include <string_view>

#include "load/transport.h"

namespace takt::load {

class HttpAnswerParser final : public boost::beast::http::basic_parser<false> {
 public:
  using OnHead = std::function<void(const ResponseHead&)>;
  using OnBody = std::function<void(std::string_view)>;

  HttpAnswerParser(OnHead on_head, OnBody on_body) : on_head_(std::move(on_head)), on_body_(std::move(on_body)) {
    header_limit(kMaxHeadBytes);
    body_limit(boost::none);
    eager(true);
  }

  static constexpr std::uint32_t kMaxHeadBytes = 32 * 1024;

 private:
  using error_code = boost::beast::error_code;
  using string_view = boost::beast::string_view;
  using field = boost::beast::http::field;

  void on_request_impl(boost::beast::http::verb /*method*/, string_view /*name*/, string_view /*target*/,
                       int /*version*/, error_code& /*error*/) override {}
  void on_response_impl(int code, string_view /*reason*/, int /*version*/, error_code& /*error*/) override {
    head_.status = code;
  }
  void on_field_impl(field name, string_view /*text*/, string_view value, error_code& /*error*/) override {
    if (name == field::content_type) head_.event_stream = value.starts_with("text/event-stream");
    if (name != field::retry_after) return;
    double seconds = 0.0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), seconds);
    if (error == std::errc() && seconds >= 0.0) head_.retry_after_seconds = seconds;
  }
  void on_header_impl(error_code& /*error*/) override { on_head_(head_); }
  void on_body_init_impl(const boost::optional<std::uint64_t>& /*length*/, error_code& /*error*/) override {}
  std::size_t on_body_impl(string_view body, error_code& /*error*/) override {
    on_body_({body.data(), body.size()});
    return body.size();
  }
  void on_chunk_header_impl(std::uint64_t /*size*/, string_view /*extensions*/, error_code& /*error*/) override {}
  std::size_t on_chunk_body_impl(std::uint64_t /*remain*/, string_view body, error_code& /*error*/) override {
    on_body_({body.data(), body.size()});
    return body.size();
  }
  void on_finish_impl(error_code& /*error*/) override {}

  OnHead on_head_;
  OnBody on_body_;
  ResponseHead head_;
};

}  // namespace takt::load
