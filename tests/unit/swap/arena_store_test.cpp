// The arena with its own thread: what leaves comes back, and whatever fails is said.
#include "swap/arena_store.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <map>
#include <mutex>

#include "store_calls.h"

namespace takt {
namespace {

using testing::holds_page;
using testing::send_page;
using testing::wait_for;

constexpr std::size_t kPageBytes = 5000;  // not a multiple of anything
constexpr std::uint32_t kPages = 24;

// Memory that can be told to fail, to change a bit, or to take its time.
class FaultyMedium final : public ArenaMedium {
 public:
  struct Faults {
    std::atomic<bool> writes{false};
    std::atomic<bool> reads{false};
    std::atomic<bool> bits{false};
    std::atomic<bool> holds{false};  // the transfer under way
    std::atomic<bool> held{false};
  };
  explicit FaultyMedium(Faults& faults) : faults_(faults), bytes_(kPages * arena_stride(kPageBytes)) {}

  Status write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    hold();
    if (faults_.writes) return Error{ErrorCode::kIo, "No space left on device", {}};
    std::memcpy(bytes_.data() + offset, bytes.data(), bytes.size());
    return {};
  }
  Status read(std::uint64_t offset, std::span<std::byte> bytes) override {
    hold();
    if (faults_.reads) return Error{ErrorCode::kIo, "Input/output error", {}};
    std::memcpy(bytes.data(), bytes_.data() + offset, bytes.size());
    if (faults_.bits) bytes[kPageBytes / 2] ^= std::byte{4};
    return {};
  }
  std::string description() const override { return "faulty memory"; }

 private:
  void hold() {
    while (faults_.holds) {
      faults_.held = true;
      std::this_thread::yield();
    }
  }
  Faults& faults_;
  std::vector<std::byte> bytes_;
};

class ArenaStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::size_t stride = arena_stride(kPageBytes);
    auto store = ArenaStore::start(PageCodec(std::make_unique<FaultyMedium>(faults_), kPageBytes, kPages),
                                   StagingBuffers(MappedBytes(stride * 8), stride, 4, kPages),
                                   {kPageBytes, kPages, {}, {}, "test"}, clock_);
    ASSERT_TRUE(store.ok());
    store_ = std::move(store.value());
  }

  FaultyMedium::Faults faults_;
  SteadyClock clock_;
  std::unique_ptr<ArenaStore> store_;
};

TEST_F(ArenaStoreTest, WhatLeavesComesBackByteByByte) {
  for (std::uint32_t page = 0; page < kPages; ++page) {
    ASSERT_TRUE(send_page(*store_, PageId(page), page));
    ASSERT_TRUE(wait_for(*store_, 1).front().status.ok());
  }
  for (std::uint32_t page = kPages; page > 0; --page) {
    ASSERT_TRUE(store_->fetch(PageId(page - 1)));
    const auto over = wait_for(*store_, 1);
    ASSERT_TRUE(over.front().status.ok());
    EXPECT_FALSE(over.front().out);
    EXPECT_TRUE(holds_page(*store_, PageId(page - 1), page - 1));
    store_->let_go(PageId(page - 1));
    EXPECT_TRUE(store_->fetched(PageId(page - 1)).empty());
  }
  EXPECT_EQ(store_->room_out(), 4U);
  EXPECT_EQ(store_->room_in(), 4U);
}

// No call waits for the disk: one that stands still costs buffers and nothing else.
TEST_F(ArenaStoreTest, ADiskThatStandsStillHoldsUpNobody) {
  faults_.holds = true;
  std::uint32_t sent = 0;
  while (send_page(*store_, PageId(sent), sent)) ++sent;
  EXPECT_EQ(sent, 4U) << "as many as there are buffers";
  EXPECT_EQ(store_->room_out(), 0U);
  EXPECT_TRUE(store_->fetch(PageId(20)));
  std::vector<SwapTransfer> over;
  store_->collect(over);
  EXPECT_TRUE(over.empty());
  faults_.holds = false;
  EXPECT_EQ(wait_for(*store_, 5).size(), 5U);
  EXPECT_EQ(store_->room_out(), 4U);
}

TEST_F(ArenaStoreTest, FailuresAndChangedBytesAreErrorsAndGiveTheirBuffersBack) {
  ASSERT_TRUE(send_page(*store_, PageId(0), 1));
  wait_for(*store_, 1);
  faults_.writes = true;
  ASSERT_TRUE(send_page(*store_, PageId(1), 2));
  EXPECT_FALSE(wait_for(*store_, 1).front().status.ok());
  for (std::atomic<bool>* fault : {&faults_.reads, &faults_.bits}) {
    *fault = true;
    ASSERT_TRUE(store_->fetch(PageId(0)));
    EXPECT_FALSE(wait_for(*store_, 1).front().status.ok());
    EXPECT_TRUE(store_->fetched(PageId(0)).empty());
    *fault = false;
  }
  EXPECT_EQ(store_->room_in(), 4U);
  EXPECT_EQ(store_->room_out(), 4U);
  ASSERT_TRUE(store_->fetch(PageId(0)));
  EXPECT_TRUE(wait_for(*store_, 1).front().status.ok());
  EXPECT_TRUE(holds_page(*store_, PageId(0), 1));
}

TEST_F(ArenaStoreTest, EndsWithTransfersUnderWay) {
  faults_.holds = true;
  for (std::uint32_t page = 0; page < 4; ++page) send_page(*store_, PageId(page), page);
  while (!faults_.held) std::this_thread::yield();
  std::thread disk_wakes([&] { faults_.holds = false; });
  store_.reset();
  disk_wakes.join();
}

TEST_F(ArenaStoreTest, MeasuresItsSpeedAtTheStart) {
  EXPECT_GT(store_->info().out_time, Duration::zero());
  EXPECT_GT(store_->info().in_time, Duration::zero());
}

}  // namespace
}  // namespace takt
