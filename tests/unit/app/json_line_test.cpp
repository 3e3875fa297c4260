#include "json_line.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace takt {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxDepth = 3;

// What comes out for these lines when each object is answered by itself, and one with "fail" by an error.
std::vector<std::string> answers(const std::string& input) {
  std::istringstream in(input);
  std::ostringstream out;
  EXPECT_TRUE(filter_json_lines(in, out, kMaxDepth, [](json::object given) -> Result<json::object> {
    if (given.contains("fail")) return Error::invalid("fail", "told to \"fail\"");
    return given;
  }));
  std::vector<std::string> lines;
  std::istringstream written(out.str());
  for (std::string line; std::getline(written, line);) lines.push_back(line);
  return lines;
}

TEST(JsonLine, GivesALineForEachLineThatIsNotBlank) {
  EXPECT_EQ(answers("{\"a\": 1}\n\n  \t\r\n{\"b\":\n{\"fail\": 1}\n{\"c\": [[]]}"),
            (std::vector<std::string>{R"({"a":1})", R"({"error":"the line is not valid JSON: incomplete JSON"})",
                                      R"({"error":"told to \"fail\""})", R"({"c":[[]]})"}));
}

TEST(JsonLine, TakesObjectsOnly) {
  for (const char* line : {"1", "[]", "null", "\"text\""})
    EXPECT_EQ(answers(line), std::vector<std::string>{R"({"error":"the line must be a JSON object"})"}) << line;
}

TEST(JsonLine, RefusesWhatNestsTooDeep) {
  EXPECT_EQ(answers(R"({"a": [[[1]]]})").at(0).substr(0, 9), R"({"error":)");
  EXPECT_EQ(answers(std::string(1'000'000, '[')).at(0).substr(0, 9), R"({"error":)");
}

TEST(JsonLine, RefusesALineThatIsTooLongAndGoesOnWithTheNext) {
  const auto lines = answers("{\"a\": \"" + std::string(kMaxJsonLineBytes, 'x') + "\"}\n{\"b\":2}\n");
  EXPECT_EQ(lines, (std::vector<std::string>{R"({"error":"a line has at most 67108864 bytes"})", R"({"b":2})"}));
}

TEST(JsonLine, StopsWhenItsAnswersCannotBeWritten) {
  std::istringstream in("{}\n{}\n{}\n");
  std::ostringstream out;
  int asked = 0;
  EXPECT_FALSE(filter_json_lines(in, out, kMaxDepth, [&](const json::object&) -> Result<json::object> {
    ++asked;
    out.setstate(std::ios::badbit);
    return json::object{};
  }));
  EXPECT_EQ(asked, 1);
}

}  // namespace
}  // namespace takt
