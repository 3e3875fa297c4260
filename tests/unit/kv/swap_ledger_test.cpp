// Pages of the swap arena: nobody's twice, nobody's lost.
#include "kv/swap_ledger.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>

namespace takt {
namespace {

TEST(SwapLedger, AddsBelowWhatIsThereAndGivesBackFromBelow) {
  SwapLedger ledger(8);
  ASSERT_TRUE(ledger.take(SequenceId(1), 2));
  const PageId highest = ledger.pages_of(SequenceId(1))[0];
  ASSERT_TRUE(ledger.take(SequenceId(1), 1));
  ASSERT_EQ(ledger.pages_of(SequenceId(1)).size(), 3U);
  EXPECT_EQ(ledger.pages_of(SequenceId(1))[0], highest);
  for (const PageId page : ledger.pages_of(SequenceId(1))) EXPECT_EQ(ledger.transfer_over(page), SequenceId(1));
  ledger.release_lowest(SequenceId(1));
  EXPECT_EQ(ledger.free_count(), 6U);
  ledger.release_lowest(SequenceId(1));
  ASSERT_EQ(ledger.pages_of(SequenceId(1)).size(), 1U);
  EXPECT_EQ(ledger.pages_of(SequenceId(1))[0], highest);
}

TEST(SwapLedger, TakesAllOrNothing) {
  SwapLedger ledger(4);
  ASSERT_TRUE(ledger.take(SequenceId(1), 3));
  EXPECT_FALSE(ledger.take(SequenceId(2), 2));
  EXPECT_EQ(ledger.free_count(), 1U);
  EXPECT_TRUE(ledger.pages_of(SequenceId(2)).empty());
}

TEST(SwapLedger, APageThatIsOnItsWayComesFreeWhenItHasArrived) {
  SwapLedger ledger(2);
  ASSERT_TRUE(ledger.take(SequenceId(1), 1));
  const PageId page = ledger.pages_of(SequenceId(1))[0];
  ledger.release(SequenceId(1));
  EXPECT_EQ(ledger.free_count(), 1U);
  EXPECT_FALSE(ledger.transfer_over(page).has_value());
  EXPECT_EQ(ledger.free_count(), 2U);
  EXPECT_FALSE(ledger.transfer_over(page).has_value()) << "once";
  EXPECT_EQ(ledger.free_count(), 2U);
}

// B12: any operations in any order, a sequence that goes at any moment included.
RC_GTEST_PROP(SwapLedger, PagesAreConservedThroughAnyOperations, ()) {
  const auto pages = *rc::gen::inRange(1U, 24U);
  SwapLedger ledger(pages);
  std::set<std::uint32_t> under_way;
  const auto operations = *rc::gen::inRange(1, 200);
  for (int i = 0; i < operations; ++i) {
    const SequenceId sequence(*rc::gen::inRange<std::uint64_t>(1, 5));
    const int what = *rc::gen::inRange(0, 5);
    const auto owned = ledger.pages_of(sequence);
    if (what == 0) {
      const std::size_t before = owned.size();
      if (ledger.take(sequence, *rc::gen::inRange(1U, 6U))) {
        for (const PageId page : ledger.pages_of(sequence).subspan(before)) under_way.insert(page.value);
      }
    } else if (what == 1 && !under_way.empty()) {
      const PageId page(*under_way.begin());
      under_way.erase(under_way.begin());
      ledger.transfer_over(page);
    } else if (what == 2 && !owned.empty() && ledger.state(owned.back()) == PageState::kHeld) {
      under_way.insert(owned.back().value);
      ledger.begin_read(owned.back());
    } else if (what == 3) {
      ledger.release_lowest(sequence);
    } else {
      ledger.release(sequence);
    }
    const auto broken = broken_swap_rules(ledger.snapshot());
    RC_ASSERT(broken.empty());
  }
  for (std::uint64_t id = 1; id < 5; ++id) ledger.release(SequenceId(id));
  for (const std::uint32_t page : under_way) ledger.transfer_over(PageId(page));
  RC_ASSERT(ledger.free_count() == pages);
}

}  // namespace
}  // namespace takt
