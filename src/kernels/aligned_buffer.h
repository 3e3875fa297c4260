// Memory for weights and workspaces: cache-line aligned, in huge pages where the system has them, grown but never
// shrunk.
#pragma once

#include <cstddef>
#include <memory>

namespace takt {

class AlignedBuffer {
 public:
  AlignedBuffer() = default;

  // At least `bytes`; what was in it is lost when it has to grow. New memory is zero. False when there is no memory;
  // the old content is then kept. Large memory is taken from the system page by page when first written, by whoever
  // writes.
  bool reserve(std::size_t bytes);

  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }
  std::size_t size() const { return size_; }

  template <typename T>
  T* as() {
    return reinterpret_cast<T*>(data_.get());
  }
  template <typename T>
  const T* as() const {
    return reinterpret_cast<const T*>(data_.get());
  }

 private:
  struct Free {
    std::size_t mapped = 0;  // bytes of a mapping of its own; 0: from the heap
    void operator()(std::byte* p) const;
  };
  std::unique_ptr<std::byte, Free> data_{nullptr, Free{}};
  std::size_t size_ = 0;
};

}  // namespace takt
