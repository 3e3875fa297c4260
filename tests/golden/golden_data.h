// Where the reference data lies, and how its plain files are read.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace takt::golden {

// TAKT_GOLDEN_DIR, or ../shared/golden beside the source tree.
inline std::filesystem::path directory() {
  if (const char* overridden = std::getenv("TAKT_GOLDEN_DIR")) return overridden;
  return std::filesystem::path(TAKT_SOURCE_DIR) / ".." / "shared" / "golden";
}

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// The values of an F32 .npy file of format version 1: magic, version, header length (16 bits), header, values. Empty
// when it is none.
inline std::vector<float> read_npy_floats(const std::filesystem::path& path) {
  const std::string bytes = read_file(path);
  if (bytes.size() < 10) return {};
  const std::size_t header = 10 + static_cast<unsigned char>(bytes[8]) + 256U * static_cast<unsigned char>(bytes[9]);
  if (bytes.size() < header) return {};
  std::vector<float> values((bytes.size() - header) / sizeof(float));
  std::memcpy(values.data(), bytes.data() + header, values.size() * sizeof(float));
  return values;
}

// A model's name as a test's name may be: "quant/llama-Q4_0" -> "quant_llama_Q4_0".
inline std::string identifier(std::string name) {
  for (char& c : name) {
    if (c == '-' || c == '/' || c == '.') c = '_';
  }
  return name;
}

}  // namespace takt::golden

// Skips the running test, with the name of what is missing.
#define TAKT_REQUIRE_GOLDEN(path) \
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "reference data is missing: " << (path)
