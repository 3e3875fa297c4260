#include "trace/keyed_hash.h"

#include <fcntl.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <system_error>
#include <utility>

namespace takt::trace {
namespace {

constexpr const char* kHexDigits = "0123456789abcdef";

std::string hex_of(std::uint64_t value) {
  constexpr int kTopNibble = 60;
  std::string text;
  for (int shift = kTopNibble; shift >= 0; shift -= 4) text += kHexDigits[(value >> shift) & 0xF];
  return text;
}

Error secret_error(ErrorCode code, const std::string& path, const std::string& message) {
  return {code, path + ": " + message, "capture"};
}

Error system_error_of(const std::string& path) {
  return secret_error(ErrorCode::kIo, path, std::generic_category().message(errno));
}

bool parse_secret(std::string_view text, HashSecret& secret) {
  if (text.size() < 2 * secret.size()) return false;
  for (std::size_t i = 0; i < secret.size(); ++i) {
    const char* begin = text.data() + 2 * i;
    const auto [end, error] = std::from_chars(begin, begin + 2, secret[i], 16);
    if (error != std::errc() || end != begin + 2) return false;
  }
  const std::string_view rest = text.substr(2 * secret.size());
  return rest.empty() || rest == "\n";
}

}  // namespace

Result<HashSecret> fresh_hash_secret() {
  HashSecret secret{};
  if (RAND_bytes(secret.data(), static_cast<int>(secret.size())) != 1)
    return Error::internal("the system gives no random bytes");
  return secret;
}

void KeyedHash::Release::operator()(void* context) const {
  EVP_MAC_CTX_free(static_cast<EVP_MAC_CTX*>(context));
}

Result<KeyedHash> KeyedHash::create(const HashSecret& secret) {
  EVP_MAC* function = EVP_MAC_fetch(nullptr, "SIPHASH", nullptr);
  EVP_MAC_CTX* context = function == nullptr ? nullptr : EVP_MAC_CTX_new(function);
  EVP_MAC_free(function);  // the context keeps it
  if (context == nullptr) return Error::internal("libcrypto has no SipHash");
  KeyedHash hash(context, secret);
  unsigned int size = sizeof(std::uint64_t);
  const OSSL_PARAM parameters[] = {OSSL_PARAM_construct_uint(OSSL_MAC_PARAM_SIZE, &size), OSSL_PARAM_construct_end()};
  if (EVP_MAC_CTX_set_params(context, parameters) != 1) return Error::internal("libcrypto's SipHash has no 64 bits");
  return hash;
}

std::uint64_t KeyedHash::of(std::string_view bytes) {
  auto* context = static_cast<EVP_MAC_CTX*>(context_.get());
  std::array<unsigned char, sizeof(std::uint64_t)> digest{};
  std::size_t size = 0;
  EVP_MAC_init(context, secret_.data(), secret_.size(), nullptr);
  EVP_MAC_update(context, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  EVP_MAC_final(context, digest.data(), &size, digest.size());
  std::uint64_t value = 0;
  std::memcpy(&value, digest.data(), sizeof value);
  return value;
}

std::string KeyedHash::name(std::string_view name) {
  return name.empty() ? std::string() : hex_of(of(name));
}

std::vector<std::uint64_t> KeyedHash::blocks(std::span<const TokenId> tokens, std::uint32_t block_tokens,
                                             std::uint64_t scope) {
  std::vector<std::uint64_t> hashes;
  hashes.reserve(tokens.size() / block_tokens);
  std::uint64_t previous = scope;
  const std::size_t bytes = block_tokens * sizeof(TokenId);
  buffer_.resize(sizeof previous + bytes);
  for (; tokens.size() >= block_tokens; tokens = tokens.subspan(block_tokens)) {
    std::memcpy(buffer_.data(), &previous, sizeof previous);
    std::memcpy(buffer_.data() + sizeof previous, tokens.data(), bytes);
    previous = of(buffer_);
    hashes.push_back(previous);
  }
  return hashes;
}

Result<SecretFile> SecretFile::open(const std::string& path) {
  constexpr mode_t kOwnerOnly = 0600;
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kOwnerOnly);
  if (file < 0) return system_error_of(path);
  SecretFile secret(file);
  if (::flock(file, LOCK_EX | LOCK_NB) != 0)
    return secret_error(ErrorCode::kUnavailable, path, "another process captures into this folder");
  if (const Status made = secret.read_or_make(path); !made) return made.error();
  return secret;
}

Status SecretFile::read_or_make(const std::string& path) {
  struct stat info {};
  if (::fstat(file_, &info) != 0) return system_error_of(path);
  constexpr mode_t kOthers = 077;
  if ((info.st_mode & kOthers) != 0)
    return secret_error(ErrorCode::kInvalidArgument, path, "must be readable by its owner only (chmod 600)");
  std::string text(64, '\0');
  const ssize_t got = ::pread(file_, text.data(), text.size(), 0);
  if (got < 0) return system_error_of(path);
  text.resize(static_cast<std::size_t>(got));
  if (!text.empty())
    return parse_secret(text, secret_)
               ? Status()
               : secret_error(ErrorCode::kInvalidArgument, path, "must hold 32 hexadecimal digits");
  auto fresh = fresh_hash_secret();
  if (!fresh) return fresh.error();
  secret_ = *fresh;
  for (const unsigned char byte : secret_) {
    text += kHexDigits[byte >> 4];
    text += kHexDigits[byte & 0xF];
  }
  text += '\n';
  if (::pwrite(file_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) return system_error_of(path);
  return {};
}

SecretFile::SecretFile(SecretFile&& other) noexcept : file_(std::exchange(other.file_, -1)), secret_(other.secret_) {}

SecretFile::~SecretFile() {
  if (file_ >= 0) ::close(file_);
}

}  // namespace takt::trace
