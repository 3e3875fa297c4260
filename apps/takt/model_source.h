// What a --model argument means.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "exec/fake/fake_script.h"

namespace takt::app {

struct ModelSource {
  std::string name;  // under which it is served
  std::string path;  // of a GGUF file; empty for a scripted model
  std::optional<FakeScript> script;
};

// `argument`: fake:SCRIPT, the path of a file, or a name that the store knows. A name whose file has not been pulled is
// kNotFound. Errors: kNotFound, kInvalidArgument (the script).
Result<ModelSource> find_model(const std::string& argument);

// All of them, with names that differ: a second model of the same name is served as NAME-2. No argument means the
// default model.
Result<std::vector<ModelSource>> find_models(const std::vector<std::string>& arguments);

}  // namespace takt::app
