#include "route/key_ring.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <set>
#include <sstream>

#include "base/small_file.h"

namespace takt::route {

namespace {

constexpr std::size_t kMinKeyBytes = 8;
constexpr std::size_t kMaxKeyBytes = 512;
constexpr std::size_t kMaxKeyFileBytes = 1 << 20;
constexpr const char* kKeyFileOption = "auth.api_key_file";
constexpr std::string ApiKey::*kNames[] = {&ApiKey::name, &ApiKey::tenant, &ApiKey::application};

std::array<unsigned char, 32> digest_of(std::string_view text) {
  std::array<unsigned char, 32> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return digest;
}

std::uint64_t number_of(const std::array<unsigned char, 32>& digest) {
  std::uint64_t number = 0;
  std::memcpy(&number, digest.data(), sizeof number);
  return number;
}

bool printable(std::string_view key) {
  return std::all_of(key.begin(), key.end(), [](char c) { return c > ' ' && c < 127; });
}

// They come into log lines, metrics and terminals; the same of the caller's headers have the same bound.
bool fit_for_names(const ApiKey& key) {
  constexpr std::size_t kMaxNameBytes = 128;
  return std::all_of(std::begin(kNames), std::end(kNames), [&](std::string ApiKey::*name) {
    const std::string& text = key.*name;
    return text.size() <= kMaxNameBytes &&
           std::none_of(text.begin(), text.end(), [](char c) { return (c >= 0 && c < ' ') || c == 127; });
  });
}

// What is wrong with the key by itself, to be read behind where it stands; empty: nothing.
std::string fault_of(const ApiKey& key, const ServiceClasses& classes) {
  if (key.key.size() < kMinKeyBytes || key.key.size() > kMaxKeyBytes || !printable(key.key))
    return " must have 8 to 512 printable ASCII characters and no space";
  if (!fit_for_names(key)) return ": name, tenant and application have at most 128 bytes and no control characters";
  if (key.service_class.empty()) return {};
  const ServiceClass* service_class = classes.find(key.service_class);
  if (service_class == nullptr) return ": there is no class '" + key.service_class + "'; there are " + classes.names();
  if (key.batch_only && service_class->limits().tier != Tier::kBatch)
    return ": class " + key.service_class + " is not in the batch tier";
  return {};
}

Identity identity_of(const ApiKey& key, std::uint64_t id) {
  Identity identity;
  if (!key.tenant.empty()) identity.tenant = key.tenant;
  identity.application = key.application;
  identity.service_class = key.service_class;
  identity.batch_only = key.batch_only;
  identity.admin = key.admin;
  identity.delegate = key.delegate;
  identity.name = key.name;
  identity.weight = key.weight;
  identity.limits = key.limits;
  identity.models = key.models;
  identity.key_id = id;
  identity.cache_salt = cache_salt_of(identity.tenant);
  return identity;
}

template <typename Number>
bool read_number(const std::string& text, Number low, Number high, Number& into) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= low && value <= high)) return false;
  into = value;
  return true;
}

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream rest(text);
  for (std::string part; std::getline(rest, part, ',');) parts.push_back(part);
  return parts;
}

bool read_flag(const std::string& word, ApiKey& key) {
  if (word == "admin") key.admin = true;
  if (word == "delegate") key.delegate = true;
  return word == "admin" || word == "delegate";
}

bool read_text(const std::string& name, const std::string& value, ApiKey& key) {
  std::string* const text = name == "tenant"        ? &key.tenant
                            : name == "application" ? &key.application
                            : name == "class"       ? &key.service_class
                            : name == "name"        ? &key.name
                                                    : nullptr;
  if (value.empty() || text == nullptr) return false;
  *text = value;
  return true;
}

// What the word may be when it is wrong; empty when it was read.
std::string read_word(const std::string& word, ApiKey& key) {
  constexpr std::uint32_t kMostRequests = 1'000'000;
  constexpr std::uint64_t kMostTokens = std::uint64_t{1} << 40;
  if (read_flag(word, key)) return {};
  const std::size_t equals = word.find('=');
  const std::string name = word.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
  if (name == "tier") {
    key.batch_only = value == "batch";
    return value == "batch" || value == "realtime" ? "" : "tier=batch or tier=realtime";
  }
  if (name == "weight") return read_number(value, 0.01, 100.0, key.weight) ? "" : "weight=0.01 to 100";
  if (name == "requests_per_minute") {
    return read_number(value, 1U, kMostRequests, key.limits.requests_per_minute) ? ""
                                                                                 : "requests_per_minute=1 to 1000000";
  }
  if (name == "tokens_per_minute") {
    return read_number(value, std::uint64_t{1}, kMostTokens, key.limits.tokens_per_minute)
               ? ""
               : "tokens_per_minute=1 to 1099511627776";
  }
  if (name == "max_in_flight") {
    return read_number(value, 1U, kMostRequests, key.limits.max_in_flight) ? "" : "max_in_flight=1 to 1000000";
  }
  if (name == "models") {
    key.models = split_list(value);
    return key.models.empty() ? "models=NAME,NAME" : "";
  }
  if (read_text(name, value, key)) return {};
  return "after the key come only name=, tenant=, application=, class=, models=NAME, tier=batch or tier=realtime, "
         "weight=, requests_per_minute=, tokens_per_minute=, max_in_flight=NUMBER, delegate and admin";
}

Result<ApiKey> parse_line(std::string_view line, std::size_t number) {
  std::istringstream words{std::string(line)};
  ApiKey key;
  key.where = "Key file, line " + std::to_string(number);
  key.option = kKeyFileOption;
  words >> key.key;
  std::string word;
  while (words >> word) {
    if (const std::string allowed = read_word(word, key); !allowed.empty())
      return Error::invalid(kKeyFileOption, key.where + ": " + allowed);
  }
  return key;
}

}  // namespace

std::uint64_t cache_salt_of(std::string_view tenant) {
  return number_of(digest_of(tenant)) | 1;
}

Identity Identity::anybody() {
  Identity identity;
  identity.delegate = true;
  return identity;
}

bool Identity::may_use_model(std::string_view model) const {
  return models.empty() || std::find(models.begin(), models.end(), model) != models.end();
}

std::optional<Identity> KeyRing::find_name(std::string_view name) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return !name.empty() && entry.identity.name == name; });
  return found == entries_.end() ? std::nullopt : std::optional(found->identity);
}

Result<KeyRing> KeyRing::create(const std::vector<ApiKey>& keys, const ServiceClasses& classes) {
  KeyRing ring;
  std::set<Digest> digests;
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const ApiKey& key = keys[i];
    const auto refused = [&](const std::string& why) {
      const std::string where = key.where.empty() ? "API key " + std::to_string(i + 1) : key.where;
      return Error::invalid(key.option.empty() ? "api_key" : key.option, where + why);
    };
    if (const std::string fault = fault_of(key, classes); !fault.empty()) return refused(fault);
    const Digest digest = digest_of(key.key);
    if (!digests.insert(digest).second) return refused(" is there twice");
    if (!key.name.empty() && !names.insert(key.name).second)
      return refused(": another key is named '" + key.name + "' too");
    ring.entries_.push_back({digest, identity_of(key, number_of(digest) | 1)});
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
  if (keys.empty()) return Error::invalid(kKeyFileOption, "The key file holds no key");
  return keys;
}

Result<std::vector<ApiKey>> read_key_file(const std::string& path) {
  const auto text = read_small_file(path, kMaxKeyFileBytes, kKeyFileOption);
  if (text) return parse_key_file(*text);
  Error error = text.error();
  error.message = "The key file " + error.message;
  return error;
}

}  // namespace takt::route
