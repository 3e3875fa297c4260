// What tests of swap stores do again and again.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

#include "swap/swap_store.h"

namespace takt::testing {

inline std::vector<std::byte> page_content(std::size_t bytes, unsigned seed) {
  std::vector<std::byte> content(bytes);
  for (std::size_t i = 0; i < bytes; ++i) content[i] = static_cast<std::byte>((i * 31 + seed * 7 + i / 253) & 0xFF);
  return content;
}

inline bool send_page(SwapStore& store, PageId page, unsigned seed) {
  const auto buffer = store.buffer_for(page);
  if (buffer.empty()) return false;
  const auto content = page_content(buffer.size(), seed);
  std::copy(content.begin(), content.end(), buffer.begin());
  store.send(page);
  return true;
}

inline bool holds_page(const SwapStore& store, PageId page, unsigned seed) {
  const auto bytes = store.fetched(page);
  const auto content = page_content(store.info().page_bytes, seed);
  return std::equal(bytes.begin(), bytes.end(), content.begin(), content.end());
}

// Until so many transfers are over; `meanwhile` lets time pass.
inline std::vector<SwapTransfer> wait_for(SwapStore& store, std::size_t count,
                                          const std::function<void()>& meanwhile = std::this_thread::yield) {
  std::vector<SwapTransfer> over;
  while (over.size() < count) {
    store.collect(over);
    meanwhile();
  }
  return over;
}

}  // namespace takt::testing
