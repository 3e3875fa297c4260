#include "swap/page_codec.h"

#include <xxhash.h>

#include <string>
#include <utility>

namespace takt {

std::size_t arena_stride(std::size_t page_bytes) {
  return (page_bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

PageCodec::PageCodec(std::unique_ptr<ArenaMedium> medium, std::size_t page_bytes, std::uint32_t pages)
    : medium_(std::move(medium)), page_bytes_(page_bytes), stride_(arena_stride(page_bytes)), checksums_(pages, 0) {}

Status PageCodec::write(PageId page, std::span<const std::byte> bytes) {
  checksums_[page.value] = XXH3_64bits(bytes.data(), page_bytes_);
  return medium_->write(std::uint64_t{page.value} * stride_, bytes);
}

Status PageCodec::read(PageId page, std::span<std::byte> bytes) {
  if (Status done = medium_->read(std::uint64_t{page.value} * stride_, bytes); !done) return done;
  if (XXH3_64bits(bytes.data(), page_bytes_) == checksums_[page.value]) return {};
  return Error{ErrorCode::kIo, "page " + std::to_string(page.value) + " of the swap arena came back changed", {}};
}

}  // namespace takt
