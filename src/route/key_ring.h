// API keys: who a caller is. Keys are kept as digests only.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "route/options.h"
#include "route/service_class.h"

namespace takt::route {

struct Identity {
  std::string tenant = "default";
  std::string application;
  std::string service_class;  // of requests that name none; may be empty
  bool batch_only = false;
  bool admin = false;     // may use /admin/*
  bool delegate = false;  // speaks for others
  std::string name;       // what rules call it
  double weight = 1.0;
  KeyLimits limits;
  std::vector<std::string> models;  // it may use; empty: all
  std::uint64_t key_id = 0;         // tells keys apart, also over a reload; 0: no key
  std::uint64_t cache_salt = 0;     // prefix blocks are shared inside a tenant only

  // Who calls a server without keys: nobody there has anything to protect from the others, so names count.
  static Identity anybody();
  bool may_use_model(std::string_view model) const;
};

// Prefix blocks of a tenant. Never 0, which is the salt of a server without keys.
std::uint64_t cache_salt_of(std::string_view tenant);

// Immutable after creation.
class KeyRing {
 public:
  // Errors: kInvalidArgument for a key that is too short, too long, not printable or there twice, or whose class does
  // not exist or is above its tier; or whose name another has. Field = its option, or "api_key". The message never
  // holds the key.
  static Result<KeyRing> create(const std::vector<ApiKey>& keys, const ServiceClasses& classes);

  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  // The key of that name, which is not empty.
  std::optional<Identity> find_name(std::string_view name) const;

  // Takes the same time whichever key matches, and whether one does: a caller cannot feel its way to a key.
  std::optional<Identity> find(std::string_view key) const;

 private:
  using Digest = std::array<unsigned char, 32>;
  struct Entry {
    Digest digest;
    Identity identity;
  };
  std::vector<Entry> entries_;
};

// A key file: one key a line, then optional words (docs/configuration.md); empty lines and those that begin with # are
// skipped. Errors name the line; field "auth.api_key_file": kIo when the file cannot be read, kInvalidArgument when it
// is larger than 1 MiB, wrong, or holds no key.
Result<std::vector<ApiKey>> read_key_file(const std::string& path);
Result<std::vector<ApiKey>> parse_key_file(std::string_view text);

}  // namespace takt::route
