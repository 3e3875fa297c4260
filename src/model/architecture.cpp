#include "model/architecture.h"

#include <array>
#include <string>

#include "model/architectures/llama.h"

namespace takt {
namespace {

constexpr std::array kArchitectures{Architecture{"llama", build_llama}};

}  // namespace

Result<const Architecture*> find_architecture(std::string_view name) {
  std::string known;
  for (const Architecture& architecture : kArchitectures) {
    if (architecture.name == name) return &architecture;
    known += (known.empty() ? "" : ", ") + std::string(architecture.name);
  }
  return Error{ErrorCode::kUnsupported,
               "the architecture \"" + printable(name) + "\" is not supported; supported: " + known,
               "general.architecture"};
}

}  // namespace takt
