// Takes from a trace what tells of people, and leaves its shape.
#pragma once

#include "base/result.h"
#include "trace/keyed_hash.h"
#include "trace/reader.h"
#include "trace/record.h"

namespace takt::trace {

// Under a secret that nobody keeps: equal names and prefixes stay equal inside the trace and mean nothing outside.
// Applications, tenants, users, tasks, models, sessions, ids and block hashes are hashed; texts, the wall clock, the
// server and its configuration are gone. Classes, tiers, lengths, times and outcomes stay.
class Anonymiser {
 public:
  // Errors: kInternal.
  static Result<Anonymiser> create();
  Origin origin(const Origin& origin) const;
  void apply(Record& record);

 private:
  explicit Anonymiser(KeyedHash hash) : hash_(std::move(hash)) {}
  std::uint64_t hash_number(std::uint64_t number);

  KeyedHash hash_;
};

}  // namespace takt::trace
