// A weight matrix in the form that the kernels read.
#pragma once

#include <cstddef>
#include <cstdint>
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

class PackedMatrix {
 public:
  PackedMatrix() = default;

  // `data`: the file's bytes, `rows` rows (outputs) of `cols` values (inputs). Types with a packed form are
  // repacked; for all others the matrix refers to `data`, which must then outlive it. Errors (kInvalidArgument,
  // kResourceExhausted): a type without weights, cols that are not whole blocks, a size that differs, no memory.
  static Result<PackedMatrix> pack(TensorType type, std::span<const std::byte> data, std::size_t rows, std::size_t cols,
                                   ThreadPool& pool);

  std::size_t rows() const { return rows_; }
  std::size_t cols() const { return cols_; }
  TensorType type() const { return type_; }
  ActivationFormats activation_formats() const;

  // Memory that this matrix owns (none where it refers to the file), and bytes that one pass over it reads.
  std::size_t owned_bytes() const { return packed_.size(); }
  std::size_t read_bytes() const;

  bool packed() const { return format_ != nullptr; }
  std::size_t blocks() const;        // of a row
  std::size_t stripes() const;       // of 16 rows, the last one padded with zeros
  std::size_t stripe_bytes() const;  // 0 where the matrix refers to the file
  const std::byte* stripe(std::size_t i) const { return packed_.data() + i * stripe_bytes(); }
  const std::byte* file_row(std::size_t i) const { return file_.data() + i * row_bytes(type_, cols_); }

  // Writes `count` values of row `row` from value `first` on as the file has them; both are whole blocks of the type.
  void unpack(std::size_t row, std::size_t first, std::size_t count, std::byte* out) const;

 private:
  TensorType type_ = TensorType::kF32;
  const StripeFormat* format_ = nullptr;  // null: computed with as the file has it
  std::size_t rows_ = 0;
  std::size_t cols_ = 0;
  AlignedBuffer packed_;
  std::span<const std::byte> file_;
};

}  // namespace takt
