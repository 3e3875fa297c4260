#include "model_source.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>
#include <utility>

#include "store/catalogue.h"
#include "store/model_store.h"

namespace takt::app {
namespace {

constexpr std::string_view kScriptPrefix = "fake:";
constexpr const char* kDefaultModel = "smollm2";

Result<ModelSource> find_script(const std::string& argument) {
  auto script = parse_fake_script(std::string_view(argument).substr(kScriptPrefix.size()));
  if (!script) return script.error();
  return ModelSource{"fake", {}, std::move(*script)};
}

}  // namespace

Result<ModelSource> find_model(const std::string& argument) {
  if (argument.starts_with(kScriptPrefix)) return find_script(argument);
  const auto store = store::ModelStore::open({});
  if (!store) return store.error();
  const auto path = store->resolve(argument);
  if (!path) return path.error();
  const store::KnownModel* known = store::find_model(store->catalogue(), argument);
  const bool by_name = known != nullptr && *path == store->folder() / known->file;
  return ModelSource{by_name ? known->name : path->stem().string(), path->string(), {}};
}

Result<std::vector<ModelSource>> find_models(const std::vector<std::string>& arguments) {
  std::vector<ModelSource> sources;
  std::set<std::string> taken;
  for (const auto& argument : arguments.empty() ? std::vector<std::string>{kDefaultModel} : arguments) {
    auto source = find_model(argument);
    if (!source) return source.error();
    const std::string name = source->name;
    for (int copy = 2; !taken.insert(source->name).second; ++copy) source->name = name + "-" + std::to_string(copy);
    sources.push_back(std::move(*source));
  }
  return sources;
}

}  // namespace takt::app
