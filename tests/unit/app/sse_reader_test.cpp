#include "sse_reader.h"

#include <gtest/gtest.h>

namespace takt::app {
namespace {

using Events = std::vector<std::string>;

Events read(SseReader& reader, std::string_view bytes) {
  auto events = reader.push(bytes);
  EXPECT_TRUE(events);
  return events ? *events : Events{};
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
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(reader.push(piece));
  EXPECT_FALSE(reader.push(piece));
}

}  // namespace
}  // namespace takt::app
