#include "kernels/aligned_buffer.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace takt {
namespace {

constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kPage = std::size_t{64} << 10U;  // a multiple of every system's
constexpr std::size_t kHugePage = std::size_t{2} << 20U;

#if defined(__linux__)
// `bytes` (whole pages) of zeros at a huge page's boundary: a larger mapping, trimmed. Null without memory. Huge pages
// only where the memory fills them: many matrices that each end in a half empty one would cost a fifth more memory.
std::byte* map_huge_pages(std::size_t bytes) {
  if (bytes + kHugePage < bytes) return nullptr;
  void* mapped = ::mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* start = static_cast<std::byte*>(mapped);
  const std::size_t before = (kHugePage - reinterpret_cast<std::uintptr_t>(start) % kHugePage) % kHugePage;
  if (before != 0) ::munmap(start, before);
  ::munmap(start + before + bytes, kHugePage - before);
  ::madvise(start + before, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);  // a wish: without it a little slower
  return start + before;
}
#endif

}  // namespace

void AlignedBuffer::Free::operator()(std::byte* p) const {
#if defined(__linux__)
  if (mapped != 0) {
    ::munmap(p, mapped);
    return;
  }
#endif
  std::free(p);
}

bool AlignedBuffer::reserve(std::size_t bytes) {
  if (bytes <= size_) return true;
  const std::size_t rounded = (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
  if (rounded < bytes) return false;
#if defined(__linux__)
  if (rounded >= kHugePage) {
    const std::size_t pages = (rounded + kPage - 1) / kPage * kPage;
    std::byte* memory = map_huge_pages(pages);
    if (memory == nullptr) return false;
    data_ = {memory, Free{pages}};
    size_ = rounded;
    return true;
  }
#endif
  void* allocated = nullptr;
  if (posix_memalign(&allocated, kCacheLine, rounded) != 0) return false;
  std::memset(allocated, 0, rounded);
  data_ = {static_cast<std::byte*>(allocated), Free{}};
  size_ = rounded;
  return true;
}

}  // namespace takt
