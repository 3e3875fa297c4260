// From a file to a model that can be run.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/thread_pool.h"
#include "core/model_vocabulary.h"
#include "model/decoder.h"
#include "model/gguf.h"
#include "model/weight_source.h"

namespace takt {

struct LoadedModel {
  std::string name;  // general.name, else the file's name without its ending
  ModelVocabulary vocabulary;
  std::unique_ptr<Decoder> decoder;
  std::size_t weight_bytes = 0;
};

// Checks everything that can be checked without reading weights: metadata, vocabulary, architecture, every tensor's
// presence, shape and type. The decoder in the result answers only questions about shapes.
Result<LoadedModel> plan_model(const GgufFile& file, const std::string& file_name,
                               WeightPlace place = WeightPlace::kMemory);

// A model file that is open, and everything that can be told of it without its weights.
struct PlannedModel {
  std::filesystem::path path;
  GgufFile file;
  LoadedModel plan;
  WeightPlace place = WeightPlace::kMemory;
};

// Opens and plans. Errors: as GgufFile::open and plan_model, with the path.
Result<PlannedModel> open_model(const std::filesystem::path& path, WeightPlace place = WeightPlace::kMemory);

// Reads all weights that such a model uses and keeps nothing. Errors: kIo, kResourceExhausted, kInvalidArgument (a
// value that is not finite); the message names the tensor.
Status check_weights(const GgufFile& file, ThreadPool& pool);

// Reads all weights on the pool's threads; with WeightPlace::kMemory they are repacked, the file is closed afterwards
// and nothing refers to it. There is no deadline. Errors name the tensor or count at fault: kIo, kInvalidArgument,
// kResourceExhausted.
Result<LoadedModel> load_model(PlannedModel planned, ThreadPool& pool, LoadProgress progress = {});
// The same from the start. Errors: also those of open_model.
Result<LoadedModel> load_model(const std::filesystem::path& path, ThreadPool& pool, LoadProgress progress = {},
                               WeightPlace place = WeightPlace::kMemory);

}  // namespace takt
