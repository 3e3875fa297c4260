// The metadata of a GGUF file: keys with typed values.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "model/gguf.h"
#include "model/gguf_cursor.h"

namespace takt {

// The least that an entry takes in the file: lengths, type and one byte of value.
inline constexpr std::uint64_t kMinGgufEntryBytes = 8 + 4 + 1;

// Reads entry number `ordinal`. Errors: kInvalidArgument, with the key, or the number where there is none yet.
Result<GgufEntry> read_gguf_entry(GgufCursor& cursor, std::size_t ordinal);

}  // namespace takt
