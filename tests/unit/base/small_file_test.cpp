#include "base/small_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace takt {
namespace {

class SmallFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "takt-small-file-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& text) {
    std::ofstream(folder_ / "file", std::ios::binary) << text;
    return folder_ / "file";
  }
  static void expect_io_error(const std::string& path, const std::string& why) {
    const auto text = read_small_file(path, 100, "some.option");
    ASSERT_FALSE(text) << path;
    EXPECT_EQ(text.error().code, ErrorCode::kIo);
    EXPECT_EQ(text.error().field, "some.option");
    EXPECT_EQ(text.error().message, path + ": " + why);
  }

  std::filesystem::path folder_;
};

TEST_F(SmallFileTest, GivesTheBytesAsTheyAre) {
  const std::string bytes("a\0b\xff\r\n", 6);
  EXPECT_EQ(read_small_file(write(bytes), 6, "").value(), bytes);
  EXPECT_EQ(read_small_file(write(""), 0, "").value(), "");
}

TEST_F(SmallFileTest, OneByteMoreThanMayBeIsRefused) {
  const std::string path = write(std::string(2049, 'x'));
  const auto text = read_small_file(path, 2048, "some.option");
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(text.error().message, path + ": larger than 2 KiB");
}

// A pipe that nobody writes to would be waited for, a device could be read for ever.
TEST_F(SmallFileTest, OnlyRegularFilesAreRead) {
  const std::string pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const std::string link = folder_ / "link";
  std::filesystem::create_symlink(pipe, link);
  for (const std::string& path : {pipe, link, folder_.string(), std::string("/dev/zero")})
    expect_io_error(path, "is not a regular file");
  const std::string to_file = folder_ / "to-file";
  std::filesystem::create_symlink(write("text"), to_file);
  EXPECT_EQ(read_small_file(to_file, 100, "").value(), "text");
}

TEST_F(SmallFileTest, WhatCannotBeReadIsSaidInTheSystemsWords) {
  expect_io_error(folder_ / "missing", "No such file or directory");
  expect_io_error("", "No such file or directory");
  if (::geteuid() == 0) return;  // who may read everything
  const std::string path = write("secret");
  std::filesystem::permissions(path, std::filesystem::perms::none);
  expect_io_error(path, "Permission denied");
}

}  // namespace
}  // namespace takt
