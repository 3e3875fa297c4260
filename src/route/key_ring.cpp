#include "route/key_ring.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

#include "route/service_class.h"

namespace takt::route {

namespace {

constexpr std::size_t kMinKeyBytes = 8;
constexpr std::size_t kMaxKeyBytes = 512;
constexpr std::size_t kMaxKeyFileBytes = 1 << 20;

std::array<unsigned char, 32> digest_of(std::string_view text) {
  std::array<unsigned char, 32> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return digest;
}

// Never 0, which is the salt of a server without keys.
std::uint64_t salt_of(std::string_view tenant) {
  const auto digest = digest_of(tenant);
  std::uint64_t salt = 0;
  std::memcpy(&salt, digest.data(), sizeof salt);
  return salt | 1;
}

bool printable(std::string_view key) {
  return std::all_of(key.begin(), key.end(), [](char c) { return c > ' ' && c < 127; });
}

Status check_class(const ApiKey& key, const std::string& where) {
  if (key.service_class.empty()) return {};
  const ServiceClass* service_class = find_service_class(key.service_class);
  if (service_class == nullptr) {
    return Error::invalid(
        "api_key", where + ": there is no class '" + key.service_class + "'; there are " + service_class_names());
  }
  if (key.batch_only && service_class->tier != Tier::kBatch)
    return Error::invalid("api_key", where + ": class " + key.service_class + " is not in the batch tier");
  return {};
}

Result<ApiKey> parse_line(std::string_view line, std::size_t number) {
  const std::string where = "line " + std::to_string(number);
  std::istringstream words{std::string(line)};
  ApiKey key;
  words >> key.key;
  std::string word;
  while (words >> word) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (name == "tier" && (value == "batch" || value == "realtime")) {
      key.batch_only = value == "batch";
      continue;
    }
    if (word == "admin") {
      key.admin = true;
      continue;
    }
    std::string* const text = name == "tenant"        ? &key.tenant
                              : name == "application" ? &key.application
                              : name == "class"       ? &key.service_class
                                                      : nullptr;
    if (value.empty() || text == nullptr) {
      return Error::invalid(where, "Key file, " + where +
                                       ": after the key come only tenant=NAME, application=NAME, class=NAME, "
                                       "tier=batch or tier=realtime, and admin");
    }
    *text = value;
  }
  return key;
}

}  // namespace

Result<KeyRing> KeyRing::create(const std::vector<ApiKey>& keys) {
  KeyRing ring;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const ApiKey& key = keys[i];
    const std::string where = "API key " + std::to_string(i + 1);
    if (key.key.size() < kMinKeyBytes || key.key.size() > kMaxKeyBytes || !printable(key.key)) {
      return Error::invalid("api_key", where + " must have 8 to 512 printable ASCII characters and no space");
    }
    if (Status sound = check_class(key, where); !sound) return sound.error();
    const Digest digest = digest_of(key.key);
    for (const Entry& entry : ring.entries_) {
      if (entry.digest == digest) return Error::invalid("api_key", where + " is there twice");
    }
    Identity identity;
    if (!key.tenant.empty()) identity.tenant = key.tenant;
    identity.application = key.application;
    identity.service_class = key.service_class;
    identity.batch_only = key.batch_only;
    identity.admin = key.admin;
    identity.cache_salt = salt_of(identity.tenant);
    ring.entries_.push_back({digest, std::move(identity)});
  }
  return ring;
}

std::optional<Identity> KeyRing::find(std::string_view key) const {
  const Digest digest = digest_of(key.substr(0, kMaxKeyBytes + 1));
  const Entry* found = nullptr;
  for (const Entry& entry : entries_) {
    if (CRYPTO_memcmp(entry.digest.data(), digest.data(), digest.size()) == 0) found = &entry;
  }
  if (found == nullptr) return std::nullopt;
  return found->identity;
}

Result<std::vector<ApiKey>> parse_key_file(std::string_view text) {
  std::vector<ApiKey> keys;
  std::istringstream lines{std::string(text)};
  std::string line;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string::npos || line[first] == '#') continue;
    auto key = parse_line(line, number);
    if (!key) return key.error();
    keys.push_back(std::move(key).value());
  }
  if (keys.empty()) return Error::invalid("api_key_file", "The key file holds no key");
  return keys;
}

Result<std::vector<ApiKey>> read_key_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return Error{ErrorCode::kIo, "The key file " + path + " cannot be read: " + std::strerror(errno), "api_key_file"};
  std::string text(kMaxKeyFileBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (file.bad()) return Error{ErrorCode::kIo, "The key file " + path + " cannot be read", "api_key_file"};
  if (text.size() > kMaxKeyFileBytes) return Error::invalid("api_key_file", "The key file is larger than 1 MiB");
  return parse_key_file(text);
}

}  // namespace takt::route
