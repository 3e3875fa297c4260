// SHA-256 of bytes that come in pieces.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>

#include "base/result.h"

namespace takt::store {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void update(const void* data, std::size_t bytes);
  // 64 lower-case hex digits; empty when the library failed. Ends it.
  std::string finish();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

Result<std::string> sha256_of_file(const std::filesystem::path& path);

}  // namespace takt::store
