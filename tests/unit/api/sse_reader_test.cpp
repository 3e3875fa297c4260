#include "api/sse_reader.h"

#include <gtest/gtest.h>

#include <vector>

namespace takt::api {
namespace {

using Events = std::vector<std::string>;

Events read(SseReader& reader, std::string_view bytes) {
  Events events;
  EXPECT_TRUE(reader.push(bytes, [&](std::string_view event) -> Status {
    events.emplace_back(event);
    return {};
  }));
  return events;
}

Status pass_over(std::string_view /*event*/) {
  return {};
}

TEST(SseReader, GivesTheDataOfEachEventAndLeavesCommentsOut) {
  SseReader reader;
  EXPECT_EQ(read(reader, "data: one\n\n: keep-alive\n\ndata:two\r\n\r\nevent: x\ndata: three\n\n"),
            (Events{"one", "two", "three"}));
}

TEST(SseReader, EventsMayComeInAnyPieces) {
  const std::string stream = "data: {\"a\": 1}\n\ndata: first\ndata: second\n\n";
  for (std::size_t size = 1; size < stream.size(); ++size) {
    SseReader reader;
    Events all;
    for (std::size_t at = 0; at < stream.size(); at += size) {
      for (auto& event : read(reader, std::string_view(stream).substr(at, size))) all.push_back(event);
    }
    EXPECT_EQ(all, (Events{"{\"a\": 1}", "first\nsecond"})) << size;
  }
}

TEST(SseReader, AnEventWithoutEndIsAnErrorBeforeItFillsTheMemory) {
  SseReader reader;
  const std::string piece(SseReader::kMaxEventBytes / 4, 'x');
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(reader.push(piece, pass_over));
  EXPECT_FALSE(reader.push(piece, pass_over));
}

TEST(SseReader, EndsAtTheFirstEventThatIsRefused) {
  SseReader reader;
  int seen = 0;
  const auto status = reader.push("data: 1\n\ndata: 2\n\ndata: 3\n\n", [&](std::string_view event) -> Status {
    ++seen;
    if (event == "2") return Error::internal("no");
    return {};
  });
  EXPECT_FALSE(status);
  EXPECT_EQ(seen, 2);
}

}  // namespace
}  // namespace takt::api
