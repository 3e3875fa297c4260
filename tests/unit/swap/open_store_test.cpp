// The arena's space is really there from the start, bounded, and nobody else's.
#include "swap/open_store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "store_calls.h"
#include "swap/arena_medium.h"
#include "swap/page_codec.h"

namespace takt {
namespace {

using testing::holds_page;
using testing::send_page;
using testing::wait_for;

constexpr std::size_t kPlenty = std::size_t{8} << 30;

class OpenStore : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ =
        std::string(TAKT_BINARY_DIR) + "/swap-" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
    options_.path = directory_;
    options_.bytes = std::size_t{4} << 20;
    options_.staging_bytes = std::size_t{1} << 20;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(directory_), {}));
  }

  std::string directory_;
  SwapOptions options_;
  SteadyClock clock_;
  const std::array<KvGroupInfo, 1> groups_ = {KvGroupInfo{16, 256, 30'000}};
};

TEST_F(OpenStore, AFileHasNoNameAndItsSizeIsThatOfTheOptions) {
  auto store = open_swap_store(options_, groups_, kPlenty, clock_);
  ASSERT_TRUE(store.ok()) << store.error().message;
  EXPECT_EQ(files(), 0U) << "nobody finds it, and no crash leaves it behind";
  EXPECT_LE((*store)->info().pages * (*store)->info().page_bytes, options_.bytes);
  EXPECT_GE((*store)->info().pages, options_.bytes / 32'768 - 1);
  ASSERT_TRUE(send_page(**store, PageId(3), 9));
  ASSERT_TRUE(wait_for(**store, 1).front().status.ok());
  ASSERT_TRUE((*store)->fetch(PageId(3)));
  ASSERT_TRUE(wait_for(**store, 1).front().status.ok());
  EXPECT_TRUE(holds_page(**store, PageId(3), 9));
}

TEST_F(OpenStore, TwoServersOnOneDirectoryDoNotMeet) {
  auto first = open_swap_store(options_, groups_, kPlenty, clock_);
  auto second = open_swap_store(options_, groups_, kPlenty, clock_);
  ASSERT_TRUE(first.ok() && second.ok());
  for (std::uint32_t page = 0; page < 8; ++page) {
    ASSERT_TRUE(send_page(**first, PageId(page), page));
    ASSERT_TRUE(send_page(**second, PageId(page), 100 + page));
    ASSERT_TRUE(wait_for(**first, 1).front().status.ok());
    ASSERT_TRUE(wait_for(**second, 1).front().status.ok());
  }
  for (std::uint32_t page = 0; page < 8; ++page) {
    ASSERT_TRUE((*first)->fetch(PageId(page)) && (*second)->fetch(PageId(page)));
    ASSERT_TRUE(wait_for(**first, 1).front().status.ok());
    ASSERT_TRUE(wait_for(**second, 1).front().status.ok());
    EXPECT_TRUE(holds_page(**first, PageId(page), page));
    EXPECT_TRUE(holds_page(**second, PageId(page), 100 + page));
    (*first)->let_go(PageId(page));
    (*second)->let_go(PageId(page));
  }
}

TEST_F(OpenStore, AFileThatAnotherRunLeftBehindIsNoneOfItsBusiness) {
  const std::string stale = directory_ + "/takt-swap-AbCdEf";
  std::ofstream(stale) << "left by a crash";
  {
    auto store = open_swap_store(options_, groups_, kPlenty, clock_);
    ASSERT_TRUE(store.ok()) << store.error().message;
  }
  std::string left;
  std::getline(std::ifstream(stale), left);
  EXPECT_EQ(left, "left by a crash");
}

// B20: what the disk cannot hold is refused at the start, not promised.
TEST_F(OpenStore, ADiskWithoutRoomRefusesAtTheStart) {
  options_.bytes = std::size_t{1} << 52;
  options_.staging_bytes = std::size_t{1} << 20;
  const auto store = make_file_arena(directory_, options_.bytes);
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.error().code, ErrorCode::kIo);
  EXPECT_EQ(store.error().field, "kv.swap_path");
  EXPECT_NE(store.error().message.find("no room"), std::string::npos) << store.error().message;
  EXPECT_EQ(files(), 0U);
}

TEST_F(OpenStore, ADirectoryThatIsNotThereIsNamed) {
  options_.path = directory_ + "/nowhere";
  const auto store = open_swap_store(options_, groups_, kPlenty, clock_);
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.error().field, "kv.swap_path");
  EXPECT_NE(store.error().message.find("nowhere"), std::string::npos);
}

// B20: KV pool, arena and buffers together stay within the memory that is left.
TEST_F(OpenStore, MemoryThatIsNotThereIsRefused) {
  options_.path.clear();
  const std::size_t pool = 256 * 30'000;
  const std::size_t needs = pool + options_.bytes + options_.staging_bytes;
  EXPECT_TRUE(open_swap_store(options_, groups_, needs, clock_).ok());
  const auto refused = open_swap_store(options_, groups_, needs - options_.bytes / 2, clock_);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(refused.error().field, "kv.swap_bytes");
}

TEST_F(OpenStore, WithoutASizeAFileIsAsLargeAsThePool) {
  options_.bytes = 0;
  auto store = open_swap_store(options_, groups_, kPlenty, clock_);
  ASSERT_TRUE(store.ok());
  EXPECT_EQ((*store)->info().pages, 256U);
}

TEST_F(OpenStore, LessThanAPageIsRefused) {
  options_.bytes = 1000;
  const auto store = open_swap_store(options_, groups_, kPlenty, clock_);
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.error().field, "kv.swap_bytes");
}

TEST_F(OpenStore, APageHoldsTheAlignmentOfAllGroups) {
  const std::array<KvGroupInfo, 2> two = {KvGroupInfo{16, 8, 100}, KvGroupInfo{32, 4, 300}};
  EXPECT_EQ(swap_page_bytes(two), 2 * 100 + 300U);
}

// Buffers beyond what the arena can ever hold would be memory for nothing; the start says what there is.
TEST_F(OpenStore, BuffersAreNoLargerThanTheArenaNeeds) {
  const auto within = open_swap_store(options_, groups_, kPlenty, clock_);
  ASSERT_TRUE(within.ok());
  EXPECT_LE((*within)->info().staging_bytes, options_.staging_bytes);
  options_.staging_bytes = std::size_t{64} << 20;
  const auto cut = open_swap_store(options_, groups_, kPlenty, clock_);
  ASSERT_TRUE(cut.ok());
  EXPECT_EQ((*cut)->info().staging_bytes, 2 * (*cut)->info().pages * arena_stride((*cut)->info().page_bytes));
}

// Where direct I/O is refused, the page cache serves.
TEST_F(OpenStore, AFileSystemInMemoryServesToo) {
  if (!std::filesystem::is_directory("/dev/shm")) GTEST_SKIP() << "there is no /dev/shm";
  options_.path = "/dev/shm";
  options_.bytes = std::size_t{1} << 20;
  auto store = open_swap_store(options_, groups_, kPlenty, clock_);
  if (!store.ok()) GTEST_SKIP() << "/dev/shm has no room: " << store.error().message;
  ASSERT_TRUE(send_page(**store, PageId(1), 4));
  ASSERT_TRUE(wait_for(**store, 1).front().status.ok());
  ASSERT_TRUE((*store)->fetch(PageId(1)));
  ASSERT_TRUE(wait_for(**store, 1).front().status.ok());
  EXPECT_TRUE(holds_page(**store, PageId(1), 4));
}

}  // namespace
}  // namespace takt
