#include "load/answer_intake.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <cstring>
#include <utility>

namespace takt::load {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;

constexpr std::size_t kFirstBytes = 16 * 1024;
constexpr std::size_t kMostBytes = 2 * std::size_t{HttpAnswerParser::kMaxHeadBytes};

}  // namespace

AnswerIntake::AnswerIntake() : buffer_(kFirstBytes) {}

void AnswerIntake::begin(HttpAnswerParser::OnHead on_head, HttpAnswerParser::OnBody on_body) {
  // One call of the parser may tell several pieces.
  parser_.emplace(
      [this, tell = std::move(on_head)](const ResponseHead& head) {
        if (!stopped_) tell(head);
      },
      [this, tell = std::move(on_body)](std::string_view body) {
        if (!stopped_) tell(body);
      });
  held_ = 0;
  got_some_ = false;
  stopped_ = false;
  error_ = {};
}

std::span<char> AnswerIntake::room() {
  return std::span(buffer_).subspan(held_);
}

AnswerIntake::State AnswerIntake::take(std::size_t bytes) {
  got_some_ = got_some_ || bytes > 0;
  const std::size_t filled = held_ + bytes;
  std::size_t used = 0;
  error_ = {};
  while (used < filled && !parser_->is_done() && !stopped_) {
    const std::size_t understood = parser_->put(asio::buffer(buffer_.data() + used, filled - used), error_);
    used += understood;
    if (error_ || understood == 0) break;
  }
  held_ = filled - used;
  if (stopped_) return State::kMore;
  if (error_ && error_ != http::error::need_more) return State::kNotHttp;
  if (parser_->is_done()) return State::kDone;
  if (used > 0 && held_ > 0) std::memmove(buffer_.data(), buffer_.data() + used, held_);
  if (held_ == buffer_.size()) {
    if (buffer_.size() >= kMostBytes) return State::kTooLarge;
    buffer_.resize(buffer_.size() * 2);
  }
  return State::kMore;
}

AnswerIntake::State AnswerIntake::end_of_stream() {
  if (!parser_->got_some()) return State::kMore;
  error_ = {};
  parser_->put_eof(error_);
  return error_ ? State::kMore : State::kDone;
}

bool AnswerIntake::can_have_another() const {
  return parser_->keep_alive() && held_ == 0;
}

}  // namespace takt::load
