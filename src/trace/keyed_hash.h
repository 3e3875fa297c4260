// Hashes that nobody can try guesses against who has only the trace: SipHash-2-4 (Aumasson and Bernstein, INDOCRYPT
// 2012) under a secret that stays on the machine.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/ids.h"

namespace takt::trace {

using HashSecret = std::array<unsigned char, 16>;
// From the system. Errors: kInternal.
Result<HashSecret> fresh_hash_secret();

// For one thread at a time.
class KeyedHash {
 public:
  // Errors: kInternal: the library lacks the function.
  static Result<KeyedHash> create(const HashSecret& secret);

  std::uint64_t of(std::string_view bytes);
  // Sixteen hexadecimal digits; a name of nothing stays one.
  std::string name(std::string_view name);
  // Of every whole block, chained: hash i is of tokens 0 .. (i + 1) * block_tokens in the scope.
  std::vector<std::uint64_t> blocks(std::span<const TokenId> tokens, std::uint32_t block_tokens, std::uint64_t scope);

 private:
  struct Release {
    void operator()(void* context) const;
  };
  explicit KeyedHash(void* context, const HashSecret& secret) : context_(context), secret_(secret) {}

  std::unique_ptr<void, Release> context_;
  HashSecret secret_;
  std::string buffer_;
};

// The secret of a folder: 32 hexadecimal digits in `path`, made at the first use for its owner only, and locked while
// this lives, so that one process captures into the folder. Errors: kIo; kUnavailable: another process has it;
// kInvalidArgument: others may read it, or it is no secret.
class SecretFile {
 public:
  static Result<SecretFile> open(const std::string& path);
  ~SecretFile();
  SecretFile(SecretFile&& other) noexcept;
  SecretFile& operator=(SecretFile&&) = delete;
  SecretFile(const SecretFile&) = delete;
  SecretFile& operator=(const SecretFile&) = delete;

  const HashSecret& secret() const { return secret_; }

 private:
  explicit SecretFile(int file) : file_(file) {}
  Status read_or_make(const std::string& path);

  int file_;
  HashSecret secret_{};
};

}  // namespace takt::trace
