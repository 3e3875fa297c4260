#include "kernels/aligned_buffer.h"

#include <cstdlib>
#include <cstring>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace takt {
namespace {

constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20U;

}  // namespace

void AlignedBuffer::Free::operator()(std::byte* p) const {
  std::free(p);
}

bool AlignedBuffer::reserve(std::size_t bytes) {
  if (bytes <= size_) return true;
  const std::size_t alignment = bytes >= kHugePage ? kHugePage : kCacheLine;
  const std::size_t rounded = (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
  if (rounded < bytes) return false;
  void* allocated = nullptr;
  if (posix_memalign(&allocated, alignment, rounded) != 0) return false;
  auto* memory = static_cast<std::byte*>(allocated);
#if defined(__linux__)
  if (alignment == kHugePage)
    madvise(memory, rounded, MADV_HUGEPAGE);  // a wish: without it everything works, a little slower
#endif
  std::memset(memory, 0, rounded);
  data_.reset(memory);
  size_ = rounded;
  return true;
}

}  // namespace takt
