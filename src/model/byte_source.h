// Where a model file's bytes come from.
//
// Files are read, not mapped: a file that shrinks or is replaced under a mapping kills the process with SIGBUS, a read
// that comes up short is an error with the place in it. All weights are repacked at load anyway, so a mapping would
// save nothing (docs/adr/0010-read-not-map.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "base/result.h"

namespace takt {

// Safe to read from several threads.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual std::uint64_t size() const = 0;
  // Fills `out` from `offset`. Errors: kIo when the range is not (or no longer) there.
  virtual Status read(std::uint64_t offset, std::span<std::byte> out) const = 0;
};

// Errors: kNotFound, kIo; the message has the path.
Result<std::shared_ptr<const ByteSource>> open_file(const std::filesystem::path& path);

// Bytes that the caller keeps alive.
std::shared_ptr<const ByteSource> memory_source(std::span<const std::byte> bytes);

}  // namespace takt
