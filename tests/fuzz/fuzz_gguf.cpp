// F7: any bytes given to the GGUF reader and to everything that reads its metadata end in a value or an error.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/load.h"
#include "model/vocabulary.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace takt;
  const auto file = GgufFile::parse(memory_source({reinterpret_cast<const std::byte*>(data), size}));
  if (!file) return 0;
  (void)read_vocabulary(*file);
  (void)plan_model(*file, "fuzz");
  for (const GgufTensor& tensor : file->tensors()) {
    std::vector<std::byte> bytes(tensor.bytes);
    if (!file->read(tensor, 0, bytes)) __builtin_trap();  // a tensor that was accepted lies inside the file
  }
  return 0;
}
