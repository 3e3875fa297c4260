#include "model/gguf.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "support/gguf_writer.h"

namespace takt {
namespace {

using testing::GgufWriter;
using testing::parse_gguf;

std::string refusal(const std::string& bytes) {
  const auto file = parse_gguf(bytes);
  return file.ok() ? "" : file.error().message;
}

TEST(Gguf, ReadsValuesAndTensorsOfBothVersions) {
  for (const std::uint32_t version : {2U, 3U}) {
    GgufWriter writer;
    writer.version = version;
    writer.add_string("general.name", "x");
    writer.add_numbers<std::int32_t>("numbers", GgufType::kInt32, {1, -2});
    writer.add_tensor("w", {4}, 0, std::string(16, '\1'));
    const std::string bytes = writer.bytes();
    const auto file = parse_gguf(bytes);
    ASSERT_TRUE(file.ok()) << file.error().message;
    EXPECT_EQ(std::get<std::string>(file->find("general.name")->data), "x");
    const auto& array = std::get<GgufArray>(file->find("numbers")->data);
    EXPECT_EQ(std::get<std::vector<std::int64_t>>(array), (std::vector<std::int64_t>{1, -2}));
    const GgufTensor* tensor = file->find_tensor("w");
    ASSERT_NE(tensor, nullptr);
    EXPECT_EQ(tensor->bytes, 16U);
    std::array<std::byte, 4> read{};
    ASSERT_TRUE(file->read(*tensor, 12, read).ok());
    EXPECT_EQ(read[3], std::byte{1});
    EXPECT_FALSE(file->read(*tensor, 13, read).ok());
  }
}

// F8: a file of a few bytes.
TEST(Gguf, EveryPrefixOfAFileIsRefused) {
  GgufWriter writer;
  writer.add_string("general.name", "x");
  writer.add_strings("list", {"a", "b"});
  writer.add_tensor("w", {4}, 0, std::string(16, '\1'));
  std::string bytes = writer.bytes();
  bytes.resize(bytes.size() - 16);  // the padding after the last tensor may be missing
  ASSERT_EQ(refusal(bytes), "");
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_NE(refusal(bytes.substr(0, length)), "") << length;
  }
}

// F10: lengths and counts that lie must not be allocated by.
TEST(Gguf, ALyingLengthIsRefusedByWhatTheFileCanHold) {
  GgufWriter array;
  array.begin_array("list", GgufType::kString, 1ULL << 61U);
  EXPECT_NE(refusal(array.bytes()).find("list"), std::string::npos);

  GgufWriter string;
  string.begin_entry("text", GgufType::kString);
  string.raw<std::uint64_t>(1ULL << 30U);
  EXPECT_NE(refusal(string.bytes()).find("text"), std::string::npos);

  GgufWriter count;
  count.keys = 1ULL << 40U;
  EXPECT_NE(refusal(count.bytes()).find("n_kv"), std::string::npos);
}

// F7: products that wrap.
TEST(Gguf, DimensionProductsThatOverflowAreRefused) {
  for (const auto& shape : std::vector<std::vector<std::uint64_t>>{
           {1ULL << 40U, 1ULL << 40U}, {~0ULL}, {1ULL << 62U, 2}, {1ULL << 61U}, {32, 1ULL << 32U, 1ULL << 32U, 4}}) {
    GgufWriter writer;
    writer.add_tensor("w", shape, 0, std::string(16, '\1'));
    EXPECT_NE(refusal(writer.bytes()).find("tensor w"), std::string::npos);
  }
}

TEST(Gguf, AnArrayOfMoreElementsThanAnyModelHasIsRefusedThoughTheFileHasThem) {
  constexpr std::uint64_t kElements = (1U << 25U) + 1;
  GgufWriter writer;
  writer.begin_array("list", GgufType::kUint8, kElements);
  const std::string bytes = writer.bytes() + std::string(kElements, '\0');
  EXPECT_NE(refusal(bytes).find("list: an array of 33554433 elements; the limit is 33554432"), std::string::npos);
}

TEST(Gguf, NestedArraysAreRefused) {
  GgufWriter writer;
  writer.begin_array("deep", GgufType::kArray, 1);
  EXPECT_NE(refusal(writer.bytes()).find("deep: an array of arrays"), std::string::npos);
}

TEST(Gguf, ABoolMustBeZeroOrOne) {
  GgufWriter writer;
  writer.begin_entry("flag", GgufType::kBool);
  writer.raw<std::uint8_t>(2);
  EXPECT_NE(refusal(writer.bytes()).find("flag"), std::string::npos);
}

TEST(Gguf, UnprintableNamesAreEscapedInMessages) {
  GgufWriter writer;
  writer.begin_entry("a\nb", GgufType::kBool);
  writer.raw<std::uint8_t>(2);
  EXPECT_NE(refusal(writer.bytes()).find("a\\x0ab"), std::string::npos);
}

// F12: a file that shrinks while it is open is an error that names the tensor, not the end of the process.
TEST(Gguf, AFileThatShrinksWhileOpenGivesAnErrorNamingTheTensor) {
  GgufWriter writer;
  writer.add_tensor("blk.0.w", {1024}, 0, std::string(4096, '\1'));
  const auto path = std::filesystem::temp_directory_path() / ("takt_shrinks_" + std::to_string(::getpid()) + ".gguf");
  std::ofstream(path, std::ios::binary) << writer.bytes();
  const auto file = GgufFile::open(path);
  ASSERT_TRUE(file.ok()) << file.error().message;
  std::filesystem::resize_file(path, 1024);
  std::vector<std::byte> data(4096);
  const Status status = file->read(*file->find_tensor("blk.0.w"), 0, data);
  std::filesystem::remove(path);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kIo);
  EXPECT_NE(status.error().message.find("blk.0.w"), std::string::npos);
}

TEST(Gguf, AMissingFileIsNotFound) {
  const auto file = GgufFile::open("/nonexistent/model.gguf");
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace takt
