// A weight matrix in the form that the kernels read, or in its file, from which it is brought into that form a stripe
// at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/result.h"
#include "base/thread_pool.h"
#include "kernels/aligned_buffer.h"
#include "kernels/stripe_packing.h"
#include "kernels/tensor_type.h"

namespace takt {

// What a product with a matrix needs of its activations (bits, to be combined by |).
enum class ActivationFormats : std::uint8_t {
  kNone = 0,    // F32 as they are
  kBlock32 = 1  // int8, a scale per 32
};
constexpr ActivationFormats operator|(ActivationFormats a, ActivationFormats b) {
  return static_cast<ActivationFormats>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr bool contains(ActivationFormats set, ActivationFormats one) {
  return (static_cast<unsigned>(set) & static_cast<unsigned>(one)) != 0;
}

// The rows of a matrix where they stay: in a file. Safe to read from several threads.
class StoredRows {
 public:
  virtual ~StoredRows() = default;
  // Fills `out` from byte `offset` of the matrix, as the file has it. Errors: kIo.
  virtual Status read(std::size_t offset, std::span<std::byte> out) const = 0;
};

// Where the rows of a matrix in memory go. Good for as long as the matrix lives, wherever that is moved to.
class PackedRows {
 public:
  PackedRows() = default;  // of no matrix

  explicit operator bool() const { return memory_ != nullptr; }

  // Takes whole rows from `first` on as the file has them; first: a multiple of 16. Each row once. Threads may call it
  // at the same time for other rows. Types without a packed form are kept as they are.
  void put(std::size_t first, std::span<const std::byte> data) const;

 private:
  friend class PackedMatrix;
  std::byte* memory_ = nullptr;
  const StripeFormat* format_ = nullptr;
  std::size_t row_bytes_ = 0;
  std::size_t blocks_ = 0;
  std::size_t stripe_bytes_ = 0;
};

class PackedMatrix {
 public:
  PackedMatrix() = default;

  // A matrix of `rows` rows (outputs) of `cols` values (inputs) that waits for its rows. Errors (kInvalidArgument,
  // kResourceExhausted): a type without weights, cols that are not whole blocks, `bytes` that differ from its size in a
  // file, no memory.
  static Result<PackedMatrix> prepare(TensorType type, std::size_t bytes, std::size_t rows, std::size_t cols);

  // Of one that waits for its rows.
  PackedRows rows_to_put();

  // Both, for a matrix whose rows are all there.
  static Result<PackedMatrix> pack(TensorType type, std::span<const std::byte> data, std::size_t rows, std::size_t cols,
                                   ThreadPool& pool);

  // A matrix that takes no memory: whoever computes with it reads its rows each time. The same bits come out, slowly.
  // Errors as prepare().
  static Result<PackedMatrix> refer(TensorType type, std::size_t bytes, std::size_t rows, std::size_t cols,
                                    std::shared_ptr<const StoredRows> stored);

  std::size_t rows() const { return rows_; }
  std::size_t cols() const { return cols_; }
  TensorType type() const { return type_; }
  ActivationFormats activation_formats() const;

  std::size_t read_bytes() const;  // in one pass over it

  std::size_t blocks() const;   // of a row
  std::size_t stripes() const;  // of 16 rows, the last one padded with zeros
  // Of types without a packed form: 16 rows as the file has them, the last stripe as many as there are.
  std::size_t stripe_bytes() const;
  bool in_memory() const { return stored_ == nullptr; }
  // Only when in_memory().
  const std::byte* stripe(std::size_t i) const { return memory_.data() + i * stripe_bytes(); }
  // The same for one that is not: reads the stripe into the beginning of `scratch`, which grows when it has to. Errors:
  // kIo, kResourceExhausted.
  Status read_stripe(std::size_t i, AlignedBuffer& scratch) const;

  // Writes `count` values of row `row` from value `first` on as the file has them; both are whole blocks of the type.
  // Errors: kIo.
  Status unpack(std::size_t row, std::size_t first, std::size_t count, std::byte* out) const;

 private:
  static Result<PackedMatrix> describe(TensorType type, std::size_t bytes, std::size_t rows, std::size_t cols);

  TensorType type_ = TensorType::kF32;
  const StripeFormat* format_ = nullptr;  // null: computed with as the file has it
  std::size_t rows_ = 0;
  std::size_t cols_ = 0;
  AlignedBuffer memory_;                      // stripes, or the file's rows
  std::shared_ptr<const StoredRows> stored_;  // instead
};

}  // namespace takt
