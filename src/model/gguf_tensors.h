// The tensor table of a GGUF file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "model/gguf.h"
#include "model/gguf_cursor.h"

namespace takt {

// The least that an entry takes in the file: lengths, type, one extent and the offset.
inline constexpr std::uint64_t kMinGgufTensorBytes = 8 + 4 + 8 + 4 + 8;

// Reads entry number `ordinal`. Its offset is from the start of the data until it is placed. Errors: kInvalidArgument,
// with the tensor's name, or the number where there is none yet.
Result<GgufTensor> read_gguf_tensor(GgufCursor& cursor, std::size_t ordinal);

// Turns offsets into places in the file and checks that they lie inside it, aligned and disjoint. `cursor` stands
// behind the table. Errors: kInvalidArgument, with the name of a tensor that does not.
Status place_gguf_tensors(std::vector<GgufTensor>& tensors, const GgufCursor& cursor, std::uint64_t alignment);

}  // namespace takt
