#include "line_reader.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>

namespace takt::app {
namespace {

using Outcome = LineReader::Outcome;

// Standard input that holds these bytes.
class Input {
 public:
  explicit Input(const std::string& bytes) : file_(std::tmpfile()) {
    std::fwrite(bytes.data(), 1, bytes.size(), file_);
    std::rewind(file_);
  }
  ~Input() { std::fclose(file_); }
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;
  int fd() const { return fileno(file_); }

 private:
  std::FILE* file_;
};

TEST(LineReader, GivesEachLineAndALastOneWithoutItsEnd) {
  const Input input("one\n\ntwo");
  LineReader reader(input.fd());
  std::string line;
  for (const char* expected : {"one", "", "two"}) {
    ASSERT_EQ(reader.read(line), Outcome::kLine);
    EXPECT_EQ(line, expected);
  }
  EXPECT_EQ(reader.read(line), Outcome::kEnd);
  EXPECT_EQ(reader.read(line), Outcome::kEnd);
}

TEST(LineReader, DropsALineThatIsTooLongAndGoesOnWithTheNext) {
  const Input input(std::string(3 * LineReader::kMaxLineBytes, 'x') + "\nnext\n" +
                    std::string(2 * LineReader::kMaxLineBytes, 'y'));
  LineReader reader(input.fd());
  std::string line;
  EXPECT_EQ(reader.read(line), Outcome::kTooLong);
  ASSERT_EQ(reader.read(line), Outcome::kLine);
  EXPECT_EQ(line, "next");
  EXPECT_EQ(reader.read(line), Outcome::kTooLong);
  EXPECT_EQ(reader.read(line), Outcome::kEnd);
}

TEST(LineReader, AnInputThatCannotBeReadIsNoEnd) {
  LineReader reader(-1);
  std::string line;
  EXPECT_EQ(reader.read(line), Outcome::kFailed);
}

}  // namespace
}  // namespace takt::app
