#include "http_get.h"

#include <gtest/gtest.h>

#include <string>

namespace takt::app {
namespace {

std::string read_back(std::string_view url) {
  const auto server = parse_url(url);
  return server ? authority(*server) : "refused: " + server.error().field;
}

TEST(ServerAddress, TakesWhatPeopleWrite) {
  EXPECT_EQ(read_back("http://localhost:9000"), "localhost:9000");
  EXPECT_EQ(read_back("http://localhost"), "localhost:80");
  EXPECT_EQ(read_back("localhost:9000/"), "localhost:9000");
  EXPECT_EQ(read_back("http://[::1]:9000"), "[::1]:9000");
  EXPECT_EQ(read_back("http://[::1]"), "[::1]:80");
}

TEST(ServerAddress, RefusesWhatIsNone) {
  for (const char* url : {"", "http://", "https://localhost", "http://localhost:", "http://localhost:0",
                          "http://localhost:65536", "http://localhost:9000x", "http://localhost:9000/v1", "http://[::1",
                          "http://[::1]9000", "http://[]:9000", "http://a/b:9000"})
    EXPECT_EQ(read_back(url), "refused: url") << url;
}

}  // namespace
}  // namespace takt::app
