// Counts what a test binary takes from operator new. Included by one source file of a binary, since it replaces the
// operators.
#pragma once

#include <malloc.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace takt::testing {

inline std::atomic<std::uint64_t> allocation_count{0};
inline std::atomic<std::int64_t> live_allocated_bytes{0};
// The allocation of this thread that finds no memory: 1, the next one; 0, none.
inline thread_local std::uint64_t failing_allocation = 0;

inline void* counted(void* memory) {
  const bool fails = failing_allocation > 0 && --failing_allocation == 0;
  if (fails) std::free(memory);
  if (fails || memory == nullptr) throw std::bad_alloc();
  allocation_count.fetch_add(1, std::memory_order_relaxed);
  live_allocated_bytes.fetch_add(static_cast<std::int64_t>(malloc_usable_size(memory)), std::memory_order_relaxed);
  return memory;
}

inline void* allocate_counted(std::size_t bytes) {
  return counted(std::malloc(bytes == 0 ? 1 : bytes));
}

inline void* allocate_counted(std::size_t bytes, std::align_val_t alignment) {
  const auto align = static_cast<std::size_t>(alignment);
  return counted(std::aligned_alloc(align, (bytes + align - 1) / align * align));
}

inline void free_counted(void* memory) noexcept {
  if (memory == nullptr) return;
  live_allocated_bytes.fetch_sub(static_cast<std::int64_t>(malloc_usable_size(memory)), std::memory_order_relaxed);
  std::free(memory);
}

}  // namespace takt::testing

// Not inlined: the compiler would see malloc on one side and delete on the other, and warn.
__attribute__((noinline)) void* operator new(std::size_t bytes) {
  return takt::testing::allocate_counted(bytes);
}
__attribute__((noinline)) void* operator new[](std::size_t bytes) {
  return takt::testing::allocate_counted(bytes);
}
__attribute__((noinline)) void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return takt::testing::allocate_counted(bytes, alignment);
}
__attribute__((noinline)) void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return takt::testing::allocate_counted(bytes, alignment);
}
__attribute__((noinline)) void operator delete(void* memory) noexcept {
  takt::testing::free_counted(memory);
}
__attribute__((noinline)) void operator delete[](void* memory) noexcept {
  takt::testing::free_counted(memory);
}
__attribute__((noinline)) void operator delete(void* memory, std::size_t) noexcept {
  takt::testing::free_counted(memory);
}
__attribute__((noinline)) void operator delete[](void* memory, std::size_t) noexcept {
  takt::testing::free_counted(memory);
}
__attribute__((noinline)) void operator delete(void* memory, std::align_val_t) noexcept {
  takt::testing::free_counted(memory);
}
__attribute__((noinline)) void operator delete[](void* memory, std::align_val_t) noexcept {
  takt::testing::free_counted(memory);
}
__attribute__((noinline)) void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  takt::testing::free_counted(memory);
}
__attribute__((noinline)) void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  takt::testing::free_counted(memory);
}
