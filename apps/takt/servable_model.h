// A model ready for an engine, whatever computes it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "config/server_config.h"
#include "costmodel/fit.h"
#include "exec/executor.h"
#include "metrics/counts.h"
#include "model/weight_source.h"
#include "model_source.h"
#include "swap/swap_store.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace takt::app {

// Where the time before a model can be used goes.
struct StartTimes {
  Duration metadata{0};
  Duration machine{0};  // measuring what it can do
  Duration weights{0};
  Duration text{0};   // the tokenizer and the template, beside all that follows the metadata
  Duration steps{0};  // measuring how long they take
};

struct ServableModel {
  std::string name;
  std::unique_ptr<Executor> executor;
  std::unique_ptr<SwapStore> swap;  // null: there is no arena
  std::shared_ptr<const Tokenizer> tokenizer;
  std::shared_ptr<const ChatTemplate> chat_template;  // null: the model has none
  std::string template_error;                         // why the one that it has cannot be used
  metrics::ModelWork work;
  // How long steps take here; empty: they are short enough to be measured by running many (engine/warm_up.h).
  std::vector<StepSample> step_samples;
  StartTimes start;
  std::vector<std::string> notes;  // what a person should know at start, a line each
};

struct ModelSetting {
  const config::ServerConfig& config;
  int threads = 1;     // for compute
  const Clock& clock;  // outlives the model
  // That the KV pools of models loaded before will take when they are first written.
  std::size_t promised_memory = 0;
};

// Errors name what is wrong with the file, or what does not fit this machine.
Result<ServableModel> load_servable_model(const ModelSource& source, const ModelSetting& setting,
                                          const LoadProgress& progress);

// Of a model's KV pool.
std::size_t kv_pool_bytes(const ServableModel& model);

}  // namespace takt::app
