// What one key may ask for: requests and tokens a minute, and requests at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <variant>

#include "base/clock.h"
#include "base/result.h"
#include "route/options.h"

namespace takt::route {

// The caller's own limit is reached: 429. `error.field` is the code.
struct QuotaRefusal {
  Error error;
  std::uint32_t retry_after_seconds = 1;
};

// Amounts of the last minute, counted by whole seconds: never more than the limit in any 60 s, at the price of one
// second. Holds at most 61 entries.
class SlidingMinute {
 public:
  void add(std::uint64_t amount, TimePoint now);
  std::uint64_t sum(TimePoint now);
  // Until so much has left that `more` fits below `limit`; `more` is at most `limit`.
  std::uint32_t seconds_until(std::uint64_t more, std::uint64_t limit, TimePoint now);

 private:
  void forget(TimePoint now);
  std::deque<std::pair<std::int64_t, std::uint64_t>> seconds_;  // the second, and what it had
  std::uint64_t sum_ = 0;
};

// Safe to use from any thread. What a key has used is kept over a reload of its limits.
class QuotaLedger {
  struct Account;

 public:
  // The clock outlives this object and its tickets.
  explicit QuotaLedger(const Clock& clock) : clock_(clock) {}

  // A request that was let in. Counts as in flight until release() or its destruction: what runs is counted by what is
  // there, never by time (H7). Outlives the ledger safely.
  class Ticket {
   public:
    ~Ticket() { release(); }
    Ticket(const Ticket&) = delete;
    Ticket& operator=(const Ticket&) = delete;

    // The prompt's tokens, before the request goes to an engine. Errors: kInvalidArgument when it is larger than a
    // whole minute's tokens; a refusal when the minute has no room for it.
    std::optional<QuotaRefusal> charge_prompt(std::uint64_t tokens);
    // Tokens of the answer, once it is over: they count against the minute in which it ended, also above the limit.
    void charge_answer(std::uint64_t tokens);
    // The request is over. Once; later calls do nothing.
    void release();

   private:
    friend class QuotaLedger;
    Ticket(std::shared_ptr<Account> account, const KeyLimits& limits, const Clock& clock)
        : account_(std::move(account)), limits_(limits), clock_(clock) {}
    std::shared_ptr<Account> account_;
    const KeyLimits limits_;
    const Clock& clock_;
    std::atomic<bool> released_{false};
  };

  // Would a request of this key be let in now? Takes nothing.
  std::optional<QuotaRefusal> check(std::uint64_t key, const KeyLimits& limits);
  // Lets it in, or refuses it. Null: the key has no limits.
  std::variant<std::shared_ptr<Ticket>, QuotaRefusal> enter(std::uint64_t key, const KeyLimits& limits);

 private:
  std::shared_ptr<Account> account(std::uint64_t key);

  const Clock& clock_;
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::shared_ptr<Account>> accounts_;  // a key of the key file each
};

}  // namespace takt::route
