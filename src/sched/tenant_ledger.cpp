#include "sched/tenant_ledger.h"

#include <algorithm>
#include <utility>

namespace takt {

Tenant& TenantLedger::enter(TenantId id) {
  if (tenants_.size() >= forget_at_) forget_idle();
  Tenant& tenant = tenants_[id];
  ++tenant.alive;
  return tenant;
}

double TenantLedger::last_level() const {
  return last_ != nullptr ? last_->level() : last_level_;
}

// One that has nothing here and is not above the level that it would be lifted to on its return leaves no trace.
void TenantLedger::forget_idle() {
  std::optional<double> lowest;
  for (const auto& [id, tenant] : tenants_) {
    if (tenant.queued > 0) lowest = lowest ? std::min(*lowest, tenant.level()) : tenant.level();
  }
  const double lifted_to = lowest.value_or(last_level());
  if (last_ != nullptr && last_->alive == 0) last_level_ = std::exchange(last_, nullptr)->level();
  std::erase_if(tenants_,
                [&](const auto& entry) { return entry.second.alive == 0 && entry.second.level() <= lifted_to; });
  forget_at_ = std::max<std::size_t>(64, tenants_.size() * 2);
}

const Tenant* TenantLedger::find(TenantId id) const {
  const auto it = tenants_.find(id);
  return it == tenants_.end() ? nullptr : &it->second;
}

double TenantLedger::owed_by(const ScheduledSequence& s) const {
  if (!s.owes_prompt) return 0.0;
  return weights_.prompt * (s.facts.prompt_tokens - s.billed_prompt) / s.weight;
}

void TenantLedger::leave(ScheduledSequence& s) noexcept {
  Tenant& tenant = *s.tenant;
  tenant.owed -= owed_by(s);
  s.owes_prompt = false;
  if (--tenant.alive == 0) tenant.owed = 0.0;
}

void TenantLedger::queued(Tenant& tenant, std::optional<double> lowest) noexcept {
  if (tenant.queued++ > 0) return;
  tenant.served = std::max(tenant.served, lowest.value_or(last_level()) - tenant.owed);
}

void TenantLedger::unqueued(Tenant& tenant) noexcept {
  if (--tenant.queued == 0) last_ = &tenant;
}

void TenantLedger::admitted(ScheduledSequence& s, std::uint32_t cached) noexcept {
  Tenant& tenant = *s.tenant;
  tenant.owed -= owed_by(s);
  const std::uint32_t found = std::min(cached, s.facts.prompt_tokens);
  if (found > s.billed_prompt) {
    tenant.served += weights_.cached * (found - s.billed_prompt) / s.weight;
    s.billed_prompt = found;
  }
  s.owes_prompt = true;
  tenant.owed += owed_by(s);
}

void TenantLedger::progressed(ScheduledSequence& s, std::uint32_t known, std::uint32_t computed) noexcept {
  Tenant& tenant = *s.tenant;
  const std::uint32_t prompt = std::min(computed, s.facts.prompt_tokens);
  if (prompt > s.billed_prompt) {
    const double cost = weights_.prompt * (prompt - s.billed_prompt) / s.weight;
    tenant.served += cost;
    tenant.owed -= cost;
    s.billed_prompt = prompt;
  }
  if (known > s.known) tenant.served += weights_.output * (known - s.known) / s.weight;
}

}  // namespace takt
