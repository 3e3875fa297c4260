#include "model/load.h"

#include <utility>

#include "model/architecture.h"
#include "model/vocabulary.h"

namespace takt {
namespace {

struct ModelHead {
  const Architecture* architecture = nullptr;
  Hyperparameters hyperparameters;
};

Result<ModelHead> read_head(const GgufFile& file) {
  const auto name = read_architecture_name(file);
  if (!name) return name.error();
  const auto architecture = find_architecture(*name);
  if (!architecture) return architecture.error();
  auto hyperparameters = read_hyperparameters(file);
  if (!hyperparameters) return hyperparameters.error();
  return ModelHead{*architecture, std::move(*hyperparameters)};
}

Status build_decoder(const ModelHead& head, WeightSource source, LoadedModel& model) {
  model.decoder = head.architecture->build(head.hyperparameters, source);
  model.weight_bytes = source.memory_bytes();
  return source.read();
}

Error with_path(const Error& error, const std::filesystem::path& path) {
  return {error.code, path.string() + ": " + error.message, error.field};
}

}  // namespace

Result<LoadedModel> plan_model(const GgufFile& file, const std::string& file_name, WeightPlace place) {
  const auto head = read_head(file);
  if (!head) return head.error();
  auto vocabulary = read_vocabulary(file);
  if (!vocabulary) return vocabulary.error();
  LoadedModel model;
  if (Status built = build_decoder(*head, WeightSource::planning(file, place), model); !built) return built.error();
  model.vocabulary = std::move(*vocabulary);
  model.name = model.vocabulary.model_name.empty() ? file_name : model.vocabulary.model_name;
  return model;
}

Result<PlannedModel> open_model(const std::filesystem::path& path, WeightPlace place) {
  auto file = GgufFile::open(path);
  if (!file) return file.error();
  auto plan = plan_model(*file, path.stem().string(), place);
  if (!plan) return with_path(plan.error(), path);
  return PlannedModel{path, std::move(*file), std::move(*plan), place};
}

Status check_weights(const GgufFile& file, ThreadPool& pool) {
  const auto head = read_head(file);
  if (!head) return head.error();
  LoadedModel model;
  return build_decoder(*head, WeightSource::checking(file, pool), model);
}

Result<LoadedModel> load_model(PlannedModel planned, ThreadPool& pool, LoadProgress progress) {
  const auto head = read_head(planned.file);
  if (!head) return with_path(head.error(), planned.path);
  LoadedModel model = std::move(planned.plan);
  const Status built =
      build_decoder(*head, WeightSource::loading(planned.file, pool, std::move(progress), planned.place), model);
  if (!built) return with_path(built.error(), planned.path);
  return model;
}

Result<LoadedModel> load_model(const std::filesystem::path& path, ThreadPool& pool, LoadProgress progress,
                               WeightPlace place) {
  auto planned = open_model(path, place);
  if (!planned) return planned.error();
  return load_model(std::move(*planned), pool, std::move(progress));
}

}  // namespace takt
