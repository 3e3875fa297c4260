#include "metrics/accountant.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace takt::metrics {
namespace {

StepPhase phase_of(const StepFeatures& features) {
  if (features.decode_rows == 0) return StepPhase::kPrefill;
  return features.decode_rows + features.padding_rows == features.tokens ? StepPhase::kDecode : StepPhase::kMixed;
}

measure::Outcome outcome_of(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
    case FinishReason::kLength:
      return measure::Outcome::kComplete;
    case FinishReason::kCancelled:
      return measure::Outcome::kCancelled;
    case FinishReason::kExpired:
      return measure::Outcome::kExpired;
    case FinishReason::kFailed:
      break;
  }
  return measure::Outcome::kFailed;
}

}  // namespace

Accountant::Accountant(std::vector<std::string> model_names) {
  counts_.models.resize(model_names.size());
  window_opened_.resize(model_names.size());
  for (std::size_t i = 0; i < model_names.size(); ++i) counts_.models[i].name = std::move(model_names[i]);
}

void Accountant::apply(const Event& event) {
  if (!first_) first_ = event.at;
  std::visit([&](const auto& what) { on(event.at, what); }, event.what);
}

void Accountant::refuse(TimePoint at, const RequestLabels& labels, ErrorCode reason) {
  if (!first_) first_ = at;
  const std::size_t index = class_index(labels);
  ClassCounts& counts = counts_.classes[index];
  ++counts.started;
  ++counts.refused;
  ++counts_.refused_by_reason[reason];
  TenantCounts& tenant = counts_.tenants[tenant_index(labels.tenant)];
  ++tenant.requests;
  ++tenant.refused;
  count_goodput(at, index, {.times = {}, .outcome = measure::Outcome::kShed, .targets = {}});
}

void Accountant::set_work(ModelIndex index, const ModelWork& work) {
  if (ModelCounts* counts = model(index)) counts->work = work;
}

Counts Accountant::snapshot(TimePoint now) const {
  Counts counts = counts_;
  for (const auto& [id, request] : running_) {
    for (const Choice& choice : request.choices) {
      if (choice.finished || !choice.times.first_token) continue;
      counts.worst_current_gap = std::max(counts.worst_current_gap, Duration(now - choice.times.last_token));
    }
  }
  for (std::size_t i = 0; i < counts.classes.size(); ++i) {
    for (std::size_t w = 0; w < kGoodputWindows.size(); ++w) {
      const Duration age = first_ ? std::max(Duration(now - *first_), GoodputWindow::kSlot) : GoodputWindow::kSlot;
      const Duration length = kGoodputWindows[w].length;
      counts.classes[i].recent[w] = {last_hour_[i].over(now, length), std::min(age, length)};
    }
  }
  return counts;
}

std::size_t Accountant::tenant_index(const std::string& tenant) {
  auto& tenants = counts_.tenants;
  const auto find_name = [&](const std::string& name) {
    return std::find_if(tenants.begin(), tenants.end(), [&](const TenantCounts& one) { return one.tenant == name; });
  };
  auto found = find_name(tenant);
  std::string name = tenant;
  if (found == tenants.end() && tenants.size() >= kMaxTenants) {
    name = "other";
    found = find_name(name);
  }
  if (found == tenants.end()) {
    TenantCounts counts;
    counts.tenant = std::move(name);
    found = tenants.insert(tenants.end(), std::move(counts));
  }
  return static_cast<std::size_t>(found - tenants.begin());
}

std::size_t Accountant::class_index(const RequestLabels& labels) {
  auto& classes = counts_.classes;
  const auto find_name = [&](const std::string& name) {
    return std::find_if(classes.begin(), classes.end(), [&](const ClassCounts& counts) {
      return counts.service_class == name && counts.tier == labels.tier;
    });
  };
  auto found = find_name(labels.service_class);
  std::string name = labels.service_class;
  if (found == classes.end() && classes.size() >= kMaxClasses) {
    name = "other";
    found = find_name(name);
  }
  if (found == classes.end()) {
    ClassCounts counts;
    counts.service_class = std::move(name);
    counts.tier = labels.tier;
    found = classes.insert(classes.end(), std::move(counts));
    last_hour_.emplace_back();
  }
  return static_cast<std::size_t>(found - classes.begin());
}

ModelCounts* Accountant::model(ModelIndex index) {
  return index.value < counts_.models.size() ? &counts_.models[index.value] : nullptr;
}

Accountant::Request* Accountant::find(RequestId id) {
  if (const auto running = running_.find(id); running != running_.end()) return &running->second;
  const auto waiting = waiting_.find(id);
  return waiting == waiting_.end() ? nullptr : &waiting->second;
}

void Accountant::on(TimePoint at, const Accepted& event) {
  Request request;
  request.class_index = class_index(event.labels);
  request.tenant_index = tenant_index(event.labels.tenant);
  request.model = event.model;
  request.targets.ttft = event.targets.ttft;
  request.targets.itl = event.targets.itl;
  if (event.targets.completion > Duration(0)) request.targets.end_to_end = event.targets.completion;
  request.arrival = event.arrival;
  request.accepted = at;
  request.prompt_tokens = event.prompt_tokens;
  request.choices.resize(std::max<std::uint32_t>(1, event.choices));
  for (Choice& choice : request.choices) {
    choice.times.scheduled = event.arrival;
    choice.times.sent = event.arrival;
  }
  const std::size_t index = request.class_index;
  const std::size_t tenant = request.tenant_index;
  if (!waiting_.emplace(event.request, std::move(request)).second) return;
  ++counts_.tenants[tenant].requests;
  ClassCounts& counts = counts_.classes[index];
  ++counts.started;
  ++counts.waiting;
  counts.waiting_tokens += event.prompt_tokens;
}

void Accountant::on(TimePoint at, const Admitted& event) {
  auto node = waiting_.extract(event.request);
  if (node.empty()) return;
  const Request& request = node.mapped();
  ClassCounts& counts = counts_.classes[request.class_index];
  --counts.waiting;
  ++counts.running;
  counts.waiting_tokens -= request.prompt_tokens;
  counts.prompt_tokens += request.prompt_tokens;
  counts.cached_tokens += event.cached_tokens;
  counts_.tenants[request.tenant_index].prompt_tokens += request.prompt_tokens;
  counts_.tenants[request.tenant_index].cached_tokens += event.cached_tokens;
  counts.missed_tokens[static_cast<std::size_t>(event.miss)] +=
      request.prompt_tokens - std::min(request.prompt_tokens, event.cached_tokens);
  counts.queue_wait.observe(to_seconds(at - request.accepted));
  running_.insert(std::move(node));
}

// Its time is that of the plan: sequences that start together have the same.
void Accountant::on(TimePoint at, const Seated& event) {
  Request* request = find(event.request);
  if (request == nullptr || event.choice >= request->choices.size()) return;
  const Duration held = event.waited[static_cast<std::size_t>(WaitReason::kWindow)];
  if (std::exchange(request->choices[event.choice].seated, true) || held <= Duration(0)) return;
  ModelCounts* counts = model(request->model);
  if (counts == nullptr) return;
  ++counts->window.held;
  counts->window.waited += held;
  auto& opened = window_opened_[request->model.value];
  if (opened == at) ++counts->window.added;
  opened = at;
}

void Accountant::on(TimePoint at, const TokenSampled& event) {
  Request* request = find(event.request);
  if (request == nullptr || event.choice >= request->choices.size()) return;
  ClassCounts& counts = counts_.classes[request->class_index];
  ++counts.generated_tokens;
  ++counts_.tenants[request->tenant_index].generated_tokens;
  // From arrival, once: a preempted request keeps its first token (F16).
  if (!request->has_first_token) {
    request->has_first_token = true;
    ++counts.first_tokens;
    observe(counts.first_token, counts.first_token_exemplars, event.request, to_seconds(at - request->arrival));
  }
  if (const auto gap = measure::note_tokens(request->choices[event.choice].times, at)) {
    counts.token_gap.observe(to_seconds(*gap));
  }
}

void Accountant::on(TimePoint /*at*/, const PromptScored& /*event*/) {}

void Accountant::on(TimePoint /*at*/, const Preempted& event) {
  const Request* request = find(event.request);
  if (request == nullptr) return;
  if (ModelCounts* counts = model(request->model)) {
    ++(event.swapped_tokens > 0   ? counts->preemptions_swap
       : event.dropped_tokens > 0 ? counts->preemptions_recompute
                                  : counts->preemptions_seat);
    counts->preempted_tokens += event.dropped_tokens;
  }
}

// A part of the same preemption.
void Accountant::on(TimePoint /*at*/, const TailTaken& event) {
  const Request* request = find(event.request);
  if (request == nullptr) return;
  if (ModelCounts* counts = model(request->model)) counts->preempted_tokens += event.dropped_tokens;
}

void Accountant::on(TimePoint /*at*/, const SwapLost& event) {
  const Request* request = find(event.request);
  if (request == nullptr) return;
  if (ModelCounts* counts = model(request->model)) {
    ++counts->swaps_lost;
    counts->preempted_tokens += event.tokens;
  }
}

void Accountant::on(TimePoint at, const ChoiceFinished& event) {
  Request* request = find(event.request);
  if (request == nullptr || event.choice >= request->choices.size()) return;
  Choice& choice = request->choices[event.choice];
  if (choice.finished) return;
  choice.finished = true;
  choice.times.end = at;
  if (event.reason == FinishReason::kFailed) request->failed = true;
  if (const auto per_token = measure::time_per_output_token(choice.times)) {
    counts_.classes[request->class_index].per_token.observe(to_seconds(*per_token));
  }
}

void Accountant::on(TimePoint at, const Closed& event) {
  auto node = running_.extract(event.request);
  const bool was_running = !node.empty();
  if (!was_running) node = waiting_.extract(event.request);
  if (node.empty()) return;
  const Request& request = node.mapped();
  ClassCounts& counts = counts_.classes[request.class_index];
  if (was_running) {
    --counts.running;
  } else {
    --counts.waiting;
    counts.waiting_tokens -= request.prompt_tokens;
  }
  for (std::size_t i = 0; i < counts_.waited.size(); ++i) {
    counts_.waited[i] += event.waited[i];
    counts_.tenants[request.tenant_index].waited += event.waited[i];
  }
  const FinishReason reason = request.failed ? FinishReason::kFailed : event.reason;
  ++counts_.closed_by_reason[static_cast<std::size_t>(reason)];
  observe(counts.duration, counts.duration_exemplars, event.request, to_seconds(at - request.arrival));
  count_outcome(event, request);
  count_goodput(at, request.class_index, record_of(at, event, request));
}

void Accountant::count_outcome(const Closed& event, const Request& request) {
  ClassCounts& counts = counts_.classes[request.class_index];
  const auto outcome = request.failed ? measure::Outcome::kFailed : outcome_of(event.reason);
  switch (outcome) {
    case measure::Outcome::kComplete:
      ++counts.finished;
      return;
    case measure::Outcome::kCancelled:
      ++counts.cancelled;
      ++counts_.cancelled_by_phase[static_cast<std::size_t>(event.phase)];
      return;
    case measure::Outcome::kExpired:
      ++counts.refused;
      ++counts_.refused_by_reason[ErrorCode::kExpired];
      return;
    case measure::Outcome::kShed:
    case measure::Outcome::kFailed:
      break;
  }
  ++counts.failed;
}

void Accountant::count_goodput(TimePoint at, std::size_t class_index, const measure::RequestRecord& record) {
  measure::count(counts_.classes[class_index].goodput, record);
  last_hour_[class_index].count(at, record);
}

measure::RequestRecord Accountant::record_of(TimePoint at, const Closed& event, const Request& request) {
  measure::RequestRecord record;
  record.outcome = request.failed ? measure::Outcome::kFailed : outcome_of(event.reason);
  record.targets = request.targets;
  // All choices are one answer: its first token is the earliest, its worst gap the worst of any.
  record.times.scheduled = request.arrival;
  record.times.sent = request.arrival;
  record.times.end = at;
  for (const Choice& choice : request.choices) {
    if (!choice.times.first_token) continue;
    auto& times = record.times;
    times.first_token =
        times.first_token ? std::min(*times.first_token, *choice.times.first_token) : *choice.times.first_token;
    times.last_token = std::max(times.last_token, choice.times.last_token);
    times.worst_gap = std::max(times.worst_gap, choice.times.worst_gap);
    times.tokens += choice.times.tokens;
  }
  return record;
}

void Accountant::on(TimePoint /*at*/, const Delivered& /*event*/) {}

void Accountant::on(TimePoint at, const StepCommitted& event) {
  ModelCounts* counts = model(event.model);
  if (counts == nullptr) return;
  const StepPlan& plan = event.plan;
  if (plan.entries.empty()) return;
  ++counts->steps[static_cast<std::size_t>(phase_of(plan.features))];
  counts->decode_tokens += plan.features.decode_rows;
  const std::uint32_t not_prefill = plan.features.decode_rows + plan.features.padding_rows;
  counts->prefill_tokens += plan.features.tokens - std::min(plan.features.tokens, not_prefill);
  counts->padding_rows += plan.features.padding_rows;
  counts->logits_rows += plan.features.logits_rows;
  counts->step_sequences.observe(static_cast<double>(plan.entries.size()));
  counts->pressure = plan.pressure;
  counts->beat_overruns += plan.beat_overrun ? 1 : 0;
  counts->steps_over_budget += plan.budget > Duration(0) && event.measured > plan.budget ? 1 : 0;
  counts->busy += event.measured;
  counts->last_minute.add(at, event.measured);
  counts->step_duration.observe(to_seconds(event.measured));
  if (plan.predicted > Duration(0)) {
    counts->measured_by_predicted.observe(to_seconds(event.measured) / to_seconds(plan.predicted));
  }
}

void Accountant::on(TimePoint /*at*/, const IdleWhileWorkWaits& event) {
  if (ModelCounts* counts = model(event.model)) {
    counts->idle_while_waiting[static_cast<std::size_t>(event.reason)] += event.idle;
  }
}

void Accountant::on(TimePoint /*at*/, const StepFailed& event) {
  if (ModelCounts* counts = model(event.model)) {
    ++(event.retryable ? counts->failed_steps_retryable : counts->failed_steps_fatal);
  }
}

}  // namespace takt::metrics
