// Buffers that pages of the swap arena pass through: half of them for each direction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/ids.h"
#include "swap/arena_medium.h"

namespace takt {

class StagingBuffers {
 public:
  // Buffers of `stride` bytes; `each_way` in each direction.
  StagingBuffers(MappedBytes memory, std::size_t stride, std::uint32_t each_way, std::uint32_t pages);

  std::uint32_t room_out() const { return static_cast<std::uint32_t>(free_out_.size()); }
  std::uint32_t room_in() const { return static_cast<std::uint32_t>(free_in_.size()); }

  // A free buffer for the page; empty when there is none in this direction.
  std::span<std::byte> take(PageId page, bool out);
  // The page's buffer; empty when it has none.
  std::span<std::byte> of(PageId page) const;
  void give_back(PageId page) noexcept;

  // Its read is over and was good.
  void mark_fetched(PageId page) { fetched_[page.value] = true; }
  bool is_fetched(PageId page) const { return fetched_[page.value]; }

 private:
  static constexpr std::uint32_t kNoBuffer = 0xFFFFFFFFU;

  MappedBytes memory_;
  std::size_t stride_;
  std::uint32_t each_way_;
  std::vector<std::uint32_t> free_out_;
  std::vector<std::uint32_t> free_in_;
  std::vector<std::uint32_t> buffer_;  // by page
  std::vector<bool> fetched_;          // by page
};

}  // namespace takt
