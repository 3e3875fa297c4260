#include "serve/model_registry.h"

#include "api/api_error.h"

namespace takt::serve {

Result<ModelRegistry> ModelRegistry::create(std::vector<ServedModel> models) {
  if (models.empty()) return Error::invalid("model", "There is no model to serve");
  for (std::size_t i = 0; i < models.size(); ++i) {
    const ServedModel& model = models[i];
    if (model.name.empty() || model.tokenizer == nullptr || model.engine == nullptr) {
      return Error::invalid("model", "A served model needs a name, a tokenizer and an engine");
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (models[j].name == model.name) return Error::invalid("model", "Two models have the name '" + model.name + "'");
    }
  }
  ModelRegistry registry;
  registry.models_ = std::move(models);
  return registry;
}

Result<const ServedModel*> ModelRegistry::find(std::string_view asked, const route::Identity& caller) const {
  const bool any = asked.empty() || asked == "default";
  std::vector<std::string> names;
  for (const ServedModel& model : models_) {
    if (!caller.may_use_model(model.name)) continue;
    if (any || model.name == asked) return &model;
    names.push_back(model.name);
  }
  return api::unknown_model(asked, names);
}

std::vector<api::ModelCard> ModelRegistry::cards(const route::Identity& caller) const {
  std::vector<api::ModelCard> cards;
  for (const ServedModel& model : models_) {
    if (caller.may_use_model(model.name)) cards.push_back({model.name, model.created, model.max_request_tokens});
  }
  return cards;
}

}  // namespace takt::serve
