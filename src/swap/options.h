// Settings of the swap arena.
#pragma once

#include <cstddef>
#include <string>

namespace takt {

struct SwapOptions {
  // Directory of the arena's file; empty: in memory, where `bytes` says how large.
  std::string path;
  // Size of the arena. 0: with a path as large as the KV pool, without one there is no arena.
  std::size_t bytes = 0;
  // Memory through which pages go out and come back, half each way. Larger: longer tails leave at once.
  std::size_t staging_bytes = std::size_t{256} * 1024 * 1024;

  bool wanted() const { return !path.empty() || bytes > 0; }
};

}  // namespace takt
