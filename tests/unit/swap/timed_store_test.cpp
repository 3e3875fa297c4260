// The arena in virtual time: transfers end when the clock says so, one after the other.
#include "swap/timed_store.h"

#include <gtest/gtest.h>

#include "store_calls.h"

namespace takt {
namespace {

using std::chrono::milliseconds;
using testing::holds_page;
using testing::send_page;

TEST(TimedStore, ATransferEndsWhenItsTimeHasCome) {
  ManualClock clock;
  TimedStoreScript script;
  script.out_time = milliseconds(10);
  script.in_time = milliseconds(5);
  auto store = std::move(TimedStore::create(script, 300, clock).value());
  ASSERT_TRUE(send_page(*store, PageId(0), 1));
  ASSERT_TRUE(send_page(*store, PageId(1), 2));
  std::vector<SwapTransfer> over;
  clock.advance(milliseconds(19));
  store->collect(over);
  EXPECT_EQ(over.size(), 1U) << "the second one waits for the first";
  clock.advance(milliseconds(1));
  store->collect(over);
  ASSERT_EQ(over.size(), 2U);
  ASSERT_TRUE(store->fetch(PageId(1)));
  clock.advance(milliseconds(5));
  store->collect(over);
  ASSERT_EQ(over.size(), 3U);
  EXPECT_TRUE(holds_page(*store, PageId(1), 2));
}

TEST(TimedStore, FailsAndChangesAsItsScriptSays) {
  ManualClock clock;
  TimedStoreScript script;
  script.fail_out_every = 2;
  script.change_in_every = 1;
  auto store = std::move(TimedStore::create(script, 300, clock).value());
  send_page(*store, PageId(0), 1);
  send_page(*store, PageId(1), 1);
  std::vector<SwapTransfer> over;
  store->collect(over);
  ASSERT_EQ(over.size(), 2U);
  EXPECT_TRUE(over[0].status.ok());
  EXPECT_FALSE(over[1].status.ok());
  ASSERT_TRUE(store->fetch(PageId(0)));
  store->collect(over);
  EXPECT_FALSE(over[2].status.ok());
  EXPECT_TRUE(store->fetched(PageId(0)).empty());
}

}  // namespace
}  // namespace takt
