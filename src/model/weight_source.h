// Weights by name, checked and in the form that kernels read. An architecture asks for what it needs in its own order;
// the first failure is kept and named, later requests give empty things.
//
// Three ways to run the same requests: planning (no pool) only checks names, shapes and types and adds up memory;
// checking also reads the file and refuses NaN and infinity; loading repacks as well, or refers to the file. Loading a
// file that planning accepted can fail only by I/O, memory or values that are not finite.
//
// What is given has its memory, but no values until read() has run: it may be moved meanwhile, not copied. So the file
// is read once from its front to its back, by all threads, whatever the order of the requests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "kernels/aligned_buffer.h"
#include "kernels/packed_matrix.h"
#include "model/gguf.h"

namespace takt {

// A matrix with its bias; `bias` is empty where there is none.
struct Linear {
  PackedMatrix weight;
  std::vector<float> bias;
};

// Bytes read so far and in all, the former larger with every call. Called by any of the threads that read, one at a
// time.
using LoadProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

// Where matrices are while the model computes.
enum class WeightPlace : std::uint8_t {
  kMemory,  // packed for the kernels
  kFile     // read and packed stripe by stripe in every step
};

class WeightSource {
 public:
  static WeightSource planning(const GgufFile& file, WeightPlace place) {
    return WeightSource(file, nullptr, {}, Keep::kNothing, place);
  }
  static WeightSource checking(const GgufFile& file, ThreadPool& pool) {
    return WeightSource(file, &pool, {}, Keep::kNothing, WeightPlace::kMemory);
  }
  static WeightSource loading(const GgufFile& file, ThreadPool& pool, LoadProgress progress, WeightPlace place) {
    return WeightSource(file, &pool, std::move(progress), Keep::kMatrices, place);
  }

  bool has(const std::string& tensor) const { return file_.find_tensor(tensor) != nullptr; }

  // NAME.weight of `outputs` rows and `inputs` columns, and NAME.bias of `outputs` values where the file has it.
  Linear linear(const std::string& name, std::size_t outputs, std::size_t inputs);
  // The same for `count` matrices in one tensor of three dimensions.
  std::vector<Linear> linears(const std::string& name, std::size_t count, std::size_t outputs, std::size_t inputs);
  std::vector<float> vector(const std::string& tensor, std::size_t size);
  // The same with its values, for who has to look at them; empty where the file has no such tensor.
  std::vector<float> vector_at_once(const std::string& tensor, std::size_t size);

  // For an architecture that finds a tensor's values impossible: the message follows its name.
  void refuse(const std::string& tensor, const std::string& message);

  // Fills what was given. Once, when all is asked for. Of several failures the first one in the file is kept.
  const Status& read();

  const Status& status() const { return status_; }
  std::size_t memory_bytes() const { return memory_bytes_; }  // of everything given so far

 private:
  enum class Keep : std::uint8_t { kNothing, kMatrices };
  WeightSource(const GgufFile& file, ThreadPool* pool, LoadProgress progress, Keep keep, WeightPlace place)
      : file_(file), pool_(pool), progress_(std::move(progress)), keep_(keep), place_(place) {
    for (const GgufTensor& tensor : file.tensors()) bytes_total_ += tensor.bytes;
  }

  // Where a tensor's bytes go.
  struct Target {
    const GgufTensor* tensor = nullptr;
    PackedRows rows;          // of a matrix in memory
    float* values = nullptr;  // of a vector
  };
  // Whole rows of a matrix, or all of a vector.
  struct Piece {
    Target target;
    std::uint64_t offset = 0;  // in the tensor
    std::size_t bytes = 0;
    std::size_t first_row = 0;
  };

  // Null, and the failure kept, unless the tensor is there with this shape and a type that can be computed with.
  const GgufTensor* find(const std::string& name, const std::vector<std::uint64_t>& shape);
  // The matrix at byte `offset` of the tensor, to be read, scanned and repacked a few rows at a time: a file is read
  // while other rows are repacked, and no tensor lies in memory twice. One that stays in the file is only read and
  // scanned.
  PackedMatrix take_matrix(const GgufTensor& tensor, std::uint64_t offset, std::size_t outputs, std::size_t inputs);
  Status read_piece(const Piece& piece, AlignedBuffer& buffer) const;
  Status read_finite(const GgufTensor& tensor, std::uint64_t offset, std::span<std::byte> out) const;
  Result<PackedMatrix> make_matrix(const GgufTensor& tensor, std::uint64_t offset, std::size_t outputs,
                                   std::size_t inputs) const;
  std::size_t matrix_bytes(TensorType type, std::size_t outputs, std::size_t inputs) const;
  void count_read(std::size_t bytes);
  void fail(Error error);

  const GgufFile& file_;
  ThreadPool* pool_;
  LoadProgress progress_;
  Keep keep_;
  WeightPlace place_;
  Status status_;
  std::vector<Piece> pieces_;
  std::size_t memory_bytes_ = 0;
  std::uint64_t bytes_done_ = 0;
  std::uint64_t bytes_total_ = 0;
};

}  // namespace takt
