// Where models are kept.
#pragma once

#include <filesystem>

namespace takt::store {

struct StoreOptions {
  // Empty: takt/models in the user's cache folder (XDG base directories: $XDG_CACHE_HOME, else ~/.cache).
  std::filesystem::path folder;
};

}  // namespace takt::store
