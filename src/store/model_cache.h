// The folder that downloaded models live in: trusted files, locks, atomic placing.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "base/result.h"
#include "store/catalogue.h"
#include "store/file_descriptor.h"

namespace takt::store {

// takt/models in the user's cache folder by the XDG base directory specification. kNotFound when neither XDG_CACHE_HOME
// nor HOME is set.
Result<std::filesystem::path> default_model_folder();

// A file is trusted when its size is right and its checksum has been found right before: a stamp beside it records
// checksum, size and modification time, so that a start does not read the whole file. Without a (fitting) stamp it is
// read once and stamped.
class ModelCache {
 public:
  explicit ModelCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path path_of(const KnownModel& model) const { return folder_ / model.file; }

  // rehash: read the file whatever the stamp says.
  bool trusted(const KnownModel& model, bool rehash) const;
  // Held by one process or thread at a time; waits for it, and calls `waiting` before it has to. Released when the
  // descriptor closes.
  Result<FileDescriptor> lock(const KnownModel& model, const std::function<void()>& waiting) const;
  // An empty folder inside, for a download under way.
  Result<std::filesystem::path> make_work_folder() const;
  // Moves a checked file to its place, atomically and durably.
  Status place(const KnownModel& model, const std::filesystem::path& checked) const;

 private:
  std::filesystem::path stamp_of(const KnownModel& model) const { return folder_ / (model.file + ".sha256"); }
  void write_stamp(const KnownModel& model) const;

  std::filesystem::path folder_;
};

}  // namespace takt::store
