#include "load/answer_intake.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

namespace takt::load {
namespace {

using State = AnswerIntake::State;

class Listener {
 public:
  Listener() {
    intake.begin([this](const ResponseHead& head) { status = head.status; },
                 [this](std::string_view bytes) { body += bytes; });
  }

  // Until the bytes or the answer end.
  State give(std::string_view bytes, std::size_t piece = 1'000'000) {
    State state = State::kMore;
    while (!bytes.empty() && state == State::kMore) {
      const auto room = intake.room();
      const std::size_t size = std::min({piece, room.size(), bytes.size()});
      std::memcpy(room.data(), bytes.data(), size);
      bytes.remove_prefix(size);
      state = intake.take(size);
    }
    return state;
  }

  AnswerIntake intake;
  int status = 0;
  std::string body;
};

constexpr std::string_view kChunked =
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;a=b\r\n world\r\n0\r\n\r\n";

TEST(AnswerIntake, AnAnswerInAnyPiecesIsTheSame) {
  for (std::size_t piece = 1; piece <= kChunked.size(); ++piece) {
    Listener listener;
    EXPECT_EQ(listener.give(kChunked, piece), State::kDone) << piece;
    EXPECT_EQ(listener.status, 200);
    EXPECT_EQ(listener.body, "hello world");
    EXPECT_TRUE(listener.intake.can_have_another());
  }
}

TEST(AnswerIntake, WhatComesBehindAnAnswerSpoilsTheConnection) {
  Listener listener;
  EXPECT_EQ(listener.give(std::string(kChunked) + "HTTP/1.1"), State::kDone);
  EXPECT_EQ(listener.body, "hello world");
  EXPECT_FALSE(listener.intake.can_have_another());
}

TEST(AnswerIntake, ABodyMayEndWithItsConnectionAndACountedOneMayNot) {
  Listener open_end;
  EXPECT_EQ(open_end.give("HTTP/1.0 200 OK\r\n\r\ndata"), State::kMore);
  EXPECT_EQ(open_end.intake.end_of_stream(), State::kDone);
  EXPECT_EQ(open_end.body, "data");
  EXPECT_FALSE(open_end.intake.can_have_another());
  Listener counted;
  EXPECT_EQ(counted.give("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ndata"), State::kMore);
  EXPECT_EQ(counted.intake.end_of_stream(), State::kMore);
  Listener silent;
  EXPECT_EQ(silent.intake.end_of_stream(), State::kMore);
  EXPECT_FALSE(silent.intake.got_some());
}

TEST(AnswerIntake, AHeadThatNeverEndsHasALimit) {
  Listener listener;
  const State state = listener.give("HTTP/1.1 200 OK\r\nX-Long: " + std::string(200'000, 'x'), 1000);
  EXPECT_TRUE(state == State::kTooLarge || state == State::kNotHttp);
  EXPECT_EQ(listener.status, 0);
}

TEST(AnswerIntake, WhoStopsHearsNothingMore) {
  AnswerIntake intake;
  std::string heard;
  intake.begin([](const ResponseHead&) {},
               [&](std::string_view bytes) {
                 heard += bytes;
                 intake.stop();
               });
  std::memcpy(intake.room().data(), kChunked.data(), kChunked.size());
  EXPECT_EQ(intake.take(kChunked.size()), State::kMore);
  EXPECT_EQ(heard, "hello");
}

TEST(AnswerIntake, AConnectionHasOneAnswerAfterTheOther) {
  Listener listener;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(listener.give(kChunked, 7), State::kDone);
    listener.intake.begin([](const ResponseHead&) {}, [&](std::string_view bytes) { listener.body += bytes; });
  }
  EXPECT_EQ(listener.body, "hello worldhello worldhello world");
}

}  // namespace
}  // namespace takt::load
