#include "model/load.h"

#include "model/architecture.h"
#include "model/vocabulary.h"

namespace takt {
namespace {

Result<LoadedModel> build(const GgufFile& file, const std::string& file_name, WeightSource source) {
  auto architecture_name = read_architecture_name(file);
  if (!architecture_name) return architecture_name.error();
  auto architecture = find_architecture(*architecture_name);
  if (!architecture) return architecture.error();
  auto hyperparameters = read_hyperparameters(file);
  if (!hyperparameters) return hyperparameters.error();
  auto vocabulary = read_vocabulary(file);
  if (!vocabulary) return vocabulary.error();
  LoadedModel model;
  model.decoder = (*architecture)->build(*hyperparameters, source);
  if (!source.status().ok()) return source.status().error();
  model.vocabulary = std::move(*vocabulary);
  model.name = model.vocabulary.model_name.empty() ? file_name : model.vocabulary.model_name;
  model.weight_bytes = source.memory_bytes();
  return model;
}

}  // namespace

Result<LoadedModel> plan_model(const GgufFile& file, const std::string& file_name, WeightPlace place) {
  return build(file, file_name, WeightSource::planning(file, place));
}

Status check_weights(const GgufFile& file, ThreadPool& pool) {
  const auto model = build(file, {}, WeightSource::checking(file, pool));
  if (!model) return model.error();
  return {};
}

Result<LoadedModel> load_model(const std::filesystem::path& path, ThreadPool& pool, LoadProgress progress,
                               WeightPlace place) {
  auto file = GgufFile::open(path);
  if (!file) return file.error();
  auto model = plan_model(*file, path.stem().string(), place);
  if (model) model = build(*file, path.stem().string(), WeightSource::loading(*file, pool, std::move(progress), place));
  if (model) return model;
  Error error = model.error();
  error.message = path.string() + ": " + error.message;
  return error;
}

}  // namespace takt
