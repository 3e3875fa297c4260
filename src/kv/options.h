// Settings of KV bookkeeping.
#pragma once

namespace takt {

struct KvOptions {
  // Keep full blocks of ended sequences and share them with later requests that begin with the same tokens.
  bool prefix_cache = true;
};

}  // namespace takt
