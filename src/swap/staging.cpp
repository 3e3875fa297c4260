#include "swap/staging.h"

#include <utility>

namespace takt {

StagingBuffers::StagingBuffers(MappedBytes memory, std::size_t stride, std::uint32_t each_way, std::uint32_t pages)
    : memory_(std::move(memory)),
      stride_(stride),
      each_way_(each_way),
      buffer_(pages, kNoBuffer),
      fetched_(pages, false) {
  for (std::uint32_t i = each_way; i > 0; --i) {
    free_out_.push_back(i - 1);
    free_in_.push_back(each_way + i - 1);
  }
}

std::span<std::byte> StagingBuffers::take(PageId page, bool out) {
  std::vector<std::uint32_t>& free = out ? free_out_ : free_in_;
  if (free.empty()) return {};
  buffer_[page.value] = free.back();
  free.pop_back();
  return of(page);
}

std::span<std::byte> StagingBuffers::of(PageId page) const {
  const std::uint32_t buffer = buffer_[page.value];
  if (buffer == kNoBuffer) return {};
  return {memory_.data + std::size_t{buffer} * stride_, stride_};
}

void StagingBuffers::give_back(PageId page) noexcept {
  const std::uint32_t buffer = std::exchange(buffer_[page.value], kNoBuffer);
  fetched_[page.value] = false;
  if (buffer == kNoBuffer) return;
  (buffer < each_way_ ? free_out_ : free_in_).push_back(buffer);
}

}  // namespace takt
