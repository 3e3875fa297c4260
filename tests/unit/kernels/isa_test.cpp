#include "kernels/isa.h"

#include <gtest/gtest.h>

#include "kernel_fixtures.h"

namespace takt {
namespace {

TEST(Isa, ScalarCanAlwaysBeChosen) {
  const Result<Isa> isa = select_isa("scalar");
  ASSERT_TRUE(isa);
  EXPECT_EQ(*isa, Isa::kScalar);
}

TEST(Isa, WithoutAWishTheBestRunnableLevelIsChosen) {
  const Result<Isa> isa = select_isa("");
  ASSERT_TRUE(isa);
  EXPECT_EQ(*isa, test::runnable_levels().back());
}

TEST(Isa, AnUnknownNameIsRefusedAndTheMessageNamesTheChoices) {
  for (const char* name : {"AVX2", "sse", "avx2 ", "NEON"}) {
    const Result<Isa> isa = select_isa(name);
    ASSERT_FALSE(isa) << name;
    EXPECT_EQ(isa.error().field, "TAKT_ISA");
    EXPECT_NE(isa.error().message.find("scalar, avx2, avx512, amx, neon or neon_dot"), std::string::npos);
  }
}

TEST(Isa, ALevelThatCannotRunHereIsRefused) {
  for (const Isa isa : {Isa::kAvx2, Isa::kAvx512, Isa::kAmx, Isa::kNeon, Isa::kNeonDot}) {
    const auto levels = test::runnable_levels();
    const bool runnable = std::find(levels.begin(), levels.end(), isa) != levels.end();
    EXPECT_EQ(select_isa(isa_name(isa)).ok(), runnable) << isa_name(isa);
  }
}

}  // namespace
}  // namespace takt
