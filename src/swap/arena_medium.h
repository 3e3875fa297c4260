// The bytes of the swap arena: a file or memory, all of it taken when it is made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"

namespace takt {

// Offsets, sizes and addresses are multiples of this: what direct I/O asks for on every usual disk.
inline constexpr std::size_t kArenaAlignment = 4096;

class ArenaMedium {
 public:
  virtual ~ArenaMedium() = default;
  // Errors: kIo, with what the system said; nothing is known about the bytes then.
  virtual Status write(std::uint64_t offset, std::span<const std::byte> bytes) = 0;
  virtual Status read(std::uint64_t offset, std::span<std::byte> bytes) = 0;
  virtual std::string description() const = 0;
};

// A file in `directory` that has no name there: it is gone when the process is, and no other one can open it. Direct
// I/O where the file system takes it; otherwise through the page cache, which the log says. Errors (kIo, field
// kv.swap_path): the directory cannot be written to, or the disk has no room for it.
Result<std::unique_ptr<ArenaMedium>> make_file_arena(const std::string& directory, std::size_t bytes);

// Errors: kResourceExhausted (field kv.swap_bytes).
Result<std::unique_ptr<ArenaMedium>> make_memory_arena(std::size_t bytes);

// Memory that is there when this returns. Null: there is none.
struct MappedBytes {
  MappedBytes() = default;
  explicit MappedBytes(std::size_t size);
  ~MappedBytes();
  MappedBytes(MappedBytes&& other) noexcept;
  MappedBytes& operator=(MappedBytes&& other) noexcept;
  std::byte* data = nullptr;
  std::size_t size = 0;
};

}  // namespace takt
