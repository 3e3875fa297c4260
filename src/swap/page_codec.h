// Pages on a medium, each with a checksum that is tested when it comes back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "core/ids.h"
#include "swap/arena_medium.h"

namespace takt {

// The bytes that a page takes on the medium.
std::size_t arena_stride(std::size_t page_bytes);

class PageCodec {
 public:
  // `medium` holds `pages` strides.
  PageCodec(std::unique_ptr<ArenaMedium> medium, std::size_t page_bytes, std::uint32_t pages);

  // `bytes`: a stride. Checksums are XXH3 (64 bits) over the page. Errors: the medium's; kIo when what comes back is
  // not what left.
  Status write(PageId page, std::span<const std::byte> bytes);
  Status read(PageId page, std::span<std::byte> bytes);

  std::size_t stride() const { return stride_; }
  ArenaMedium& medium() { return *medium_; }

 private:
  std::unique_ptr<ArenaMedium> medium_;
  std::size_t page_bytes_;
  std::size_t stride_;
  std::vector<std::uint64_t> checksums_;
};

}  // namespace takt
