// Rule 5 of golden/models (F7, F8, F9, F10, F11): broken files are refused quickly, by name, and good ones load.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <chrono>
#include <sstream>

#include "golden/golden_data.h"
#include "model/load.h"

namespace takt {
namespace {

bool mentions_one_of(const std::string& message, const std::string& alternatives) {
  std::istringstream in(alternatives);
  for (std::string word; std::getline(in, word, '|');) {
    if (message.find(word) != std::string::npos) return true;
  }
  return false;
}

TEST(HostileFiles, EachIsTreatedAsItsManifestSays) {
  const auto folder = golden::directory() / "models" / "hostile";
  TAKT_REQUIRE_GOLDEN(folder / "manifest.json");
  ThreadPool pool(2);
  int refused = 0;
  int loaded = 0;
  const auto manifest = boost::json::parse(golden::read_file(folder / "manifest.json"));
  for (const auto& entry : manifest.as_array()) {
    const std::string name(entry.at("file").as_string());
    SCOPED_TRACE(name);
    const auto start = std::chrono::steady_clock::now();
    const auto model = load_model(folder / name, pool);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
    if (entry.at("must").as_string() == "load") {
      EXPECT_TRUE(model.ok()) << model.error().message;
      ++loaded;
      continue;
    }
    ASSERT_FALSE(model.ok());
    for (const auto& words : entry.at("refusal_must_mention").as_array()) {
      // The file's own name is in the message too: it must not be what mentions the word.
      const std::string message = model.error().message.substr((folder / name).string().size());
      EXPECT_TRUE(mentions_one_of(message, std::string(words.as_string()))) << message << " does not mention " << words;
    }
    ++refused;
  }
  EXPECT_EQ(refused, 39);
  EXPECT_EQ(loaded, 2);
}

}  // namespace
}  // namespace takt
