// The models that can be had by name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace takt::store {

// One file inside a Python package (a wheel is a zip archive).
struct KnownModel {
  std::string name;
  std::vector<std::string> aliases;
  std::string package;  // for pip
  std::string version;
  std::string member;  // path inside the wheel
  std::string file;    // name in the cache folder
  std::uint64_t bytes = 0;
  std::string sha256;  // 64 lower-case hex digits
};

std::vector<KnownModel> built_in_catalogue();

// By name or alias; null when there is none.
const KnownModel* find_model(const std::vector<KnownModel>& catalogue, std::string_view name);

}  // namespace takt::store
