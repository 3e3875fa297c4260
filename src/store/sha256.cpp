#include "store/sha256.h"

#include <openssl/evp.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <vector>

namespace takt::store {
namespace {

constexpr std::size_t kReadBytes = 1 << 20;

}  // namespace

struct Sha256::Context {
  EVP_MD_CTX* digest = EVP_MD_CTX_new();
  bool good = digest != nullptr && EVP_DigestInit_ex(digest, EVP_sha256(), nullptr) == 1;

  Context() = default;
  ~Context() { EVP_MD_CTX_free(digest); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {}
Sha256::~Sha256() = default;

void Sha256::update(const void* data, std::size_t bytes) {
  context_->good = context_->good && EVP_DigestUpdate(context_->digest, data, bytes) == 1;
}

std::string Sha256::finish() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  if (!context_->good || EVP_DigestFinal_ex(context_->digest, digest, &length) != 1) return {};
  context_->good = false;
  static constexpr char kHex[] = "0123456789abcdef";
  std::string text;
  for (unsigned i = 0; i < length; ++i) {
    text += kHex[digest[i] >> 4];
    text += kHex[digest[i] & 15];
  }
  return text;
}

Result<std::string> sha256_of_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  Sha256 hash;
  std::vector<char> buffer(kReadBytes);
  while (file) {
    file.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    hash.update(buffer.data(), static_cast<std::size_t>(file.gcount()));
  }
  if (!file.eof())
    return Error{ErrorCode::kIo, "Cannot read '" + path.string() + "': " + std::strerror(errno) + ".", {}};
  std::string text = hash.finish();
  if (text.empty()) return Error::internal("The checksum of '" + path.string() + "' cannot be computed.");
  return text;
}

}  // namespace takt::store
