#include "route/quota.h"

#include <algorithm>
#include <string>

namespace takt::route {

namespace {

// The second an amount came in, and sixty whole ones after it.
constexpr std::int64_t kKeptSeconds = 61;

std::int64_t second_of(TimePoint now) {
  return std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count();
}

QuotaRefusal refusal(const char* code, const std::string& limit, std::uint32_t retry_after_seconds) {
  return {{ErrorCode::kResourceExhausted, "This API key has reached its limit of " + limit + ".", code},
          retry_after_seconds};
}

}  // namespace

void SlidingMinute::forget(TimePoint now) {
  const std::int64_t oldest = second_of(now) - kKeptSeconds + 1;
  while (!seconds_.empty() && seconds_.front().first < oldest) {
    sum_ -= seconds_.front().second;
    seconds_.pop_front();
  }
}

void SlidingMinute::add(std::uint64_t amount, TimePoint now) {
  forget(now);
  const std::int64_t second = second_of(now);
  if (seconds_.empty() || seconds_.back().first < second) seconds_.emplace_back(second, 0);
  seconds_.back().second += amount;
  sum_ += amount;
}

std::uint64_t SlidingMinute::sum(TimePoint now) {
  forget(now);
  return sum_;
}

std::uint32_t SlidingMinute::seconds_until(std::uint64_t more, std::uint64_t limit, TimePoint now) {
  std::uint64_t left = sum(now);
  std::int64_t wait = 0;
  for (const auto& [second, amount] : seconds_) {
    if (left + more <= limit) break;
    left -= amount;
    wait = second + kKeptSeconds - second_of(now);
  }
  return static_cast<std::uint32_t>(std::max<std::int64_t>(wait, 1));
}

struct QuotaLedger::Account {
  std::mutex mutex;
  SlidingMinute requests;
  SlidingMinute tokens;
  std::uint32_t in_flight = 0;

  std::optional<QuotaRefusal> check(const KeyLimits& limits, TimePoint now) {
    if (limits.requests_per_minute > 0 && requests.sum(now) >= limits.requests_per_minute) {
      return refusal("request_quota_exceeded", std::to_string(limits.requests_per_minute) + " requests a minute",
                     requests.seconds_until(1, limits.requests_per_minute, now));
    }
    if (limits.tokens_per_minute > 0 && tokens.sum(now) >= limits.tokens_per_minute) {
      return refusal("token_quota_exceeded", std::to_string(limits.tokens_per_minute) + " tokens a minute",
                     tokens.seconds_until(1, limits.tokens_per_minute, now));
    }
    if (limits.max_in_flight > 0 && in_flight >= limits.max_in_flight)
      return refusal("rate_limit_exceeded", std::to_string(limits.max_in_flight) + " requests at a time", 1);
    return std::nullopt;
  }
};

std::shared_ptr<QuotaLedger::Account> QuotaLedger::account(std::uint64_t key) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Account>& account = accounts_[key];
  if (account == nullptr) account = std::make_shared<Account>();
  return account;
}

std::optional<QuotaRefusal> QuotaLedger::check(std::uint64_t key, const KeyLimits& limits) {
  if (!limits.any()) return std::nullopt;
  const auto held = account(key);
  const std::lock_guard lock(held->mutex);
  return held->check(limits, clock_.now());
}

std::variant<std::shared_ptr<QuotaLedger::Ticket>, QuotaRefusal> QuotaLedger::enter(std::uint64_t key,
                                                                                    const KeyLimits& limits) {
  if (!limits.any()) return std::shared_ptr<Ticket>();
  auto held = account(key);
  {
    const std::lock_guard lock(held->mutex);
    const TimePoint now = clock_.now();
    if (auto refused = held->check(limits, now)) return std::move(*refused);
    held->requests.add(1, now);
    ++held->in_flight;
  }
  return std::shared_ptr<Ticket>(new Ticket(std::move(held), limits, clock_));
}

std::optional<QuotaRefusal> QuotaLedger::Ticket::charge_prompt(std::uint64_t tokens) {
  const TimePoint now = clock_.now();
  const std::lock_guard lock(account_->mutex);
  const std::uint64_t limit = limits_.tokens_per_minute;
  if (limit > 0 && tokens > limit) {
    return QuotaRefusal{
        Error::invalid("prompt", "The prompt has " + std::to_string(tokens) + " tokens, and this API key may use " +
                                     std::to_string(limit) + " a minute"),
        0};
  }
  if (limit > 0 && account_->tokens.sum(now) + tokens > limit) {
    return refusal("token_quota_exceeded", std::to_string(limit) + " tokens a minute",
                   account_->tokens.seconds_until(tokens, limit, now));
  }
  account_->tokens.add(tokens, now);
  return std::nullopt;
}

void QuotaLedger::Ticket::charge_answer(std::uint64_t tokens) {
  const std::lock_guard lock(account_->mutex);
  account_->tokens.add(tokens, clock_.now());
}

void QuotaLedger::Ticket::release() {
  if (released_.exchange(true)) return;
  const std::lock_guard lock(account_->mutex);
  --account_->in_flight;
}

}  // namespace takt::route
