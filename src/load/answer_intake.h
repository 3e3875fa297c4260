// The bytes of HTTP answers as they come off a connection: what is not understood yet is kept, within a limit.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "load/http_answer_parser.h"

namespace takt::load {

class AnswerIntake {
 public:
  enum class State : std::uint8_t {
    kMore,      // the answer goes on
    kDone,      // it is complete
    kNotHttp,   // `why_not`
    kTooLarge,  // a piece of it that must be had in whole
  };

  AnswerIntake();
  AnswerIntake(const AnswerIntake&) = delete;
  AnswerIntake& operator=(const AnswerIntake&) = delete;

  // The next answer of the connection.
  void begin(HttpAnswerParser::OnHead on_head, HttpAnswerParser::OnBody on_body);
  // Where the next bytes are to be read to; never empty after begin() and kMore.
  std::span<char> room();
  // So many bytes were read there. The callbacks are called within; `stop` ends that, and then nothing is said.
  State take(std::size_t bytes);
  void stop() { stopped_ = true; }
  // The connection ended. kDone: that was the end of the answer; kMore: it is incomplete.
  State end_of_stream();

  bool got_some() const { return got_some_; }  // any byte of this answer
  // After kDone: nothing came behind the answer, and its server keeps the connection.
  bool can_have_another() const;
  const boost::beast::error_code& why_not() const { return error_; }

 private:
  std::optional<HttpAnswerParser> parser_;
  std::vector<char> buffer_;  // the first `held_` bytes are not understood yet
  std::size_t held_ = 0;
  bool got_some_ = false;
  bool stopped_ = false;
  boost::beast::error_code error_;
};

}  // namespace takt::load
