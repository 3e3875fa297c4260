// The swap arena that the options ask for.
#pragma once

#include <cstddef>
#include <memory>

#include "base/clock.h"
#include "base/result.h"
#include "core/kv_group.h"
#include "swap/options.h"
#include "swap/swap_store.h"

namespace takt {

// Bytes of a page: `alignment` positions in every group.
std::size_t swap_page_bytes(std::span<const KvGroupInfo> groups);

// Takes the arena's space and its buffers at once. `groups`: of the model whose blocks it will hold. `free_memory`:
// what the process may still use, of which the model's KV pool will take its part. `clock` outlives the store. Errors:
// kInvalidArgument (an arena too small for a page, or more memory than there is), kIo and kResourceExhausted (no room),
// each with the option's key as the field.
Result<std::unique_ptr<SwapStore>> open_swap_store(const SwapOptions& options, std::span<const KvGroupInfo> groups,
                                                   std::size_t free_memory, const Clock& clock);

}  // namespace takt
