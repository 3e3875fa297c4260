#include "engine/door.h"

#include <algorithm>
#include <utility>

namespace takt {

namespace {

Error full(const char* what, std::uint64_t limit) {
  return {ErrorCode::kUnavailable, std::string("The queue is full: ") + what + " " + std::to_string(limit) + ".",
          "queue_full"};
}

Error own_limit(const char* whose, std::uint32_t limit) {
  return {ErrorCode::kResourceExhausted,
          std::string("This ") + whose + " has reached its limit of " + std::to_string(limit) + " answers at a time.",
          {}};
}

std::string tenant_key(const RequestLabels& labels) {
  std::string key("t");
  key += labels.tenant;
  return key;
}

// The tenant's length keeps (tenant, user) pairs apart whatever the names hold.
std::string user_key(const RequestLabels& labels) {
  std::string key("u");
  key += std::to_string(labels.tenant.size());
  key += ':';
  key += labels.tenant;
  key += labels.user;
  return key;
}

}  // namespace

void Door::change(DoorLimits limits) {
  const std::lock_guard lock(entering_);
  limits_ = std::move(limits);
}

std::uint64_t Door::most_sequences(Tier tier) const {
  const std::lock_guard lock(entering_);
  return std::uint64_t{limits_.seats} + limits(tier).max_waiting;
}

double Door::block_ceiling(ClassIndex service_class) const {
  const std::lock_guard lock(entering_);
  return limits_of(limits_.classes, service_class, Tier::kRealtime).ceiling.blocks;
}

Status Door::check(const Submitter::Place& place, std::uint64_t prompt_tokens, std::uint32_t choices) const {
  const std::lock_guard lock(entering_);
  return check_locked(place, prompt_tokens, choices);
}

Status Door::check_locked(const Submitter::Place& place, std::uint64_t prompt_tokens, std::uint32_t choices) const {
  const QueueLimits& limit = limits(place.tier);
  const TierCount& count = tiers_[static_cast<std::size_t>(place.tier)];
  const std::uint64_t most = std::uint64_t{limits_.seats} + limit.max_waiting;
  if (count.sequences.load(std::memory_order_acquire) + choices > most) {
    return full("answers that run or wait are limited to", most);
  }
  if (count.waiting_tokens.load(std::memory_order_acquire) + prompt_tokens > limit.max_waiting_tokens) {
    return full("waiting prompt tokens are limited to", limit.max_waiting_tokens);
  }
  const std::size_t index = place.service_class.value;
  if (index >= limits_.classes.size() || index >= classes_.size()) return {};
  const ClassQueue& queue = limits_.classes[index].queue;
  const ClassCount& of_class = classes_[index];
  if (queue.max_waiting > 0 && of_class.waiting_sequences.load(std::memory_order_acquire) + choices > queue.max_waiting)
    return full("answers of this class that wait are limited to", queue.max_waiting);
  if (queue.max_waiting_tokens > 0 &&
      of_class.waiting_tokens.load(std::memory_order_acquire) + prompt_tokens > queue.max_waiting_tokens)
    return full("waiting prompt tokens of this class are limited to", queue.max_waiting_tokens);
  return {};
}

std::shared_ptr<Door::Count> Door::account(const std::string& name) {
  if (accounts_.size() >= sweep_at_) {
    std::erase_if(accounts_, [](const auto& entry) { return entry.second->load(std::memory_order_acquire) == 0; });
    sweep_at_ = std::max<std::size_t>(1024, accounts_.size() * 2);
  }
  std::shared_ptr<Count>& count = accounts_[name];
  if (!count) count = std::make_shared<Count>(0);
  return count;
}

Result<Door::Ticket> Door::enter(const RequestLabels& labels, ClassIndex service_class, std::uint64_t prompt_tokens,
                                 std::uint32_t choices) {
  const std::lock_guard lock(entering_);
  const Status room = check_locked({labels.tier, service_class}, prompt_tokens, choices);
  if (!room.ok()) return room.error();
  Ticket ticket;
  ticket.tier_ = labels.tier;
  ticket.class_ = service_class;
  ticket.waiting_tokens_ = prompt_tokens;
  ticket.waiting_sequences_ = choices;
  ticket.sequences_ = choices;
  const QueueLimits& limit = limits(labels.tier);
  if (limit.max_per_tenant > 0) {
    ticket.tenant_ = account(tenant_key(labels));
    if (ticket.tenant_->load() + choices > limit.max_per_tenant) return own_limit("tenant", limit.max_per_tenant);
  }
  // Requests that name no user are nobody's in particular: their tenant's bound is theirs.
  if (limit.max_per_user > 0 && !labels.user.empty()) {
    ticket.user_ = account(user_key(labels));
    if (ticket.user_->load() + choices > limit.max_per_user) return own_limit("user", limit.max_per_user);
  }
  if (ticket.tenant_) ticket.tenant_->fetch_add(choices);
  if (ticket.user_) ticket.user_->fetch_add(choices);
  TierCount& count = tiers_[static_cast<std::size_t>(labels.tier)];
  count.sequences.fetch_add(choices);
  count.waiting_tokens.fetch_add(prompt_tokens);
  if (service_class.value < classes_.size()) {
    classes_[service_class.value].waiting_sequences.fetch_add(choices);
    classes_[service_class.value].waiting_tokens.fetch_add(prompt_tokens);
  }
  return ticket;
}

void Door::admitted(Ticket& ticket) noexcept {
  const std::uint64_t tokens = std::exchange(ticket.waiting_tokens_, 0);
  const std::uint32_t sequences = std::exchange(ticket.waiting_sequences_, 0);
  tiers_[static_cast<std::size_t>(ticket.tier_)].waiting_tokens.fetch_sub(tokens);
  if (ticket.class_.value >= classes_.size()) return;
  classes_[ticket.class_.value].waiting_tokens.fetch_sub(tokens);
  classes_[ticket.class_.value].waiting_sequences.fetch_sub(sequences);
}

void Door::leave(Ticket& ticket, std::uint32_t choices) noexcept {
  choices = std::min(choices, ticket.sequences_);
  ticket.sequences_ -= choices;
  if (ticket.sequences_ == 0) admitted(ticket);
  if (ticket.tenant_) ticket.tenant_->fetch_sub(choices);
  if (ticket.user_) ticket.user_->fetch_sub(choices);
  tiers_[static_cast<std::size_t>(ticket.tier_)].sequences.fetch_sub(choices);
}

std::uint64_t Door::sequences() const {
  return tiers_[0].sequences.load() + tiers_[1].sequences.load();
}

std::uint64_t Door::waiting_tokens() const {
  return tiers_[0].waiting_tokens.load() + tiers_[1].waiting_tokens.load();
}

}  // namespace takt
