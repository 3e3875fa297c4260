// Rows of real quantised tensors, read through the GGUF reader, against the reference's values (rule 3 of
// golden/models).
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "golden/golden_data.h"
#include "kernels/dequantise.h"
#include "model/gguf.h"

namespace takt {
namespace {

TEST(ModelRows, EveryTypeDequantisesToTheReferenceBits) {
  const auto folder = golden::directory() / "models";
  TAKT_REQUIRE_GOLDEN(folder / "dequant" / "manifest.json");
  const auto manifest = boost::json::parse(golden::read_file(folder / "dequant" / "manifest.json"));
  int compared = 0;
  for (const auto& entry : manifest.as_array()) {
    SCOPED_TRACE(std::string(entry.at("type").as_string()));
    const auto file = GgufFile::open(folder / std::string(entry.at("file").as_string()));
    ASSERT_TRUE(file.ok()) << file.error().message;
    const GgufTensor* tensor = file->find_tensor(std::string(entry.at("tensor").as_string()));
    ASSERT_NE(tensor, nullptr);
    EXPECT_EQ(tensor_type_name(tensor->type), std::string(entry.at("type").as_string()));
    if (!tensor_type_info(tensor->type).weights) continue;
    const auto expected = golden::read_npy_floats(folder / std::string(entry.at("npy").as_string()));
    std::vector<std::byte> bytes(row_bytes(tensor->type, expected.size()));
    ASSERT_TRUE(file->read(*tensor, 0, bytes).ok());
    std::vector<float> values(expected.size());
    ASSERT_TRUE(dequantise_row(tensor->type, bytes.data(), values.data(), values.size()));
    EXPECT_EQ(std::memcmp(values.data(), expected.data(), values.size() * sizeof(float)), 0);
    ++compared;
  }
  EXPECT_EQ(compared, 14);
}

}  // namespace
}  // namespace takt
