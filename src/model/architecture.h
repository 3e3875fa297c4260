// The architectures that can be loaded, by the name that files give them (general.architecture).
#pragma once

#include <memory>
#include <string_view>

#include "base/result.h"
#include "model/decoder.h"
#include "model/weight_source.h"

namespace takt {

struct Architecture {
  std::string_view name;
  // Asks the source for every weight; never null. Failures are in the source's status. With a planning source the
  // decoder can only be asked for shapes and layouts.
  std::unique_ptr<Decoder> (*build)(const Hyperparameters& hyperparameters, WeightSource& source);
};

// Errors: kUnsupported, with the names there are.
Result<const Architecture*> find_architecture(std::string_view name);

}  // namespace takt
