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

namespace takt::route {

struct Identity {
  std::string tenant = "default";
  std::string application;
  std::string service_class;  // of requests that name none; may be empty
  bool batch_only = false;
  bool admin = false;            // may use /admin/*
  std::uint64_t cache_salt = 0;  // prefix blocks are shared inside a tenant only
};

// Immutable after creation.
class KeyRing {
 public:
  // Errors: kInvalidArgument for a key that is too short, too long, not printable or there twice, or whose class does
  // not exist or is above its tier. The message never holds the key.
  static Result<KeyRing> create(const std::vector<ApiKey>& keys);

  bool empty() const { return entries_.empty(); }

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

// A key file: one key a line, then optional `tenant=NAME`, `application=NAME`, `class=NAME` (see service_class.h),
// `tier=batch` or `tier=realtime`, and `admin`; empty lines and those that begin with # are skipped. Errors name the line: kIo when the file cannot be read, kInvalidArgument when it is wrong or holds no
// key.
Result<std::vector<ApiKey>> read_key_file(const std::string& path);
Result<std::vector<ApiKey>> parse_key_file(std::string_view text);

}  // namespace takt::route
