// Every bit pattern a block can hold, against the reference's values.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <cstring>

#include "golden/golden_data.h"
#include "kernels/dequantise.h"

namespace takt {
namespace {

TEST(RawBlocks, EveryWeightTypeDequantisesToTheReferenceBits) {
  const auto folder = golden::directory() / "models" / "dequant" / "raw";
  TAKT_REQUIRE_GOLDEN(folder / "manifest.json");
  const auto manifest = boost::json::parse(golden::read_file(folder / "manifest.json"));
  int compared = 0;
  for (const auto& entry : manifest.as_array()) {
    const std::string name(entry.at("type").as_string());
    SCOPED_TRACE(name);
    const auto type = tensor_type_from_id(static_cast<std::uint32_t>(entry.at("ggml_type_id").as_int64()));
    ASSERT_TRUE(type.has_value());
    const TensorTypeInfo& info = tensor_type_info(*type);
    EXPECT_EQ(info.name, name);
    EXPECT_EQ(info.block_elements, entry.at("block_elements").as_int64());
    EXPECT_EQ(info.block_bytes, entry.at("block_bytes").as_int64());
    if (!info.weights) continue;
    const std::string blocks = golden::read_file(folder / std::string(entry.at("bin").as_string()));
    const auto expected = golden::read_npy_floats(folder / std::string(entry.at("npy").as_string()));
    ASSERT_EQ(blocks.size(), row_bytes(*type, expected.size()));
    std::vector<float> values(expected.size());
    ASSERT_TRUE(dequantise_row(*type, reinterpret_cast<const std::byte*>(blocks.data()), values.data(), values.size()));
    EXPECT_EQ(std::memcmp(values.data(), expected.data(), values.size() * sizeof(float)), 0);
    ++compared;
  }
  EXPECT_EQ(compared, 14);
}

}  // namespace
}  // namespace takt
