#include "exec/cpu/cpu_executor.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <functional>
#include <string>
#include <utility>

#include "base/cpu_topology.h"
#include "sampling/logprobs.h"
#include "sampling/validate.h"

namespace takt {
namespace {

std::string name_of(SequenceId id) {
  return "sequence " + std::to_string(id.value);
}

void take_sample(Result<SampledToken> sampled, EntryResult& entry) {
  if (sampled) {
    entry.sampled = std::move(*sampled);
    entry.outcome = EntryOutcome::kSampled;
  } else {
    entry.error = sampled.error();
    entry.outcome = EntryOutcome::kFailed;
  }
}

}  // namespace

Result<std::unique_ptr<CpuExecutor>> CpuExecutor::load(const std::filesystem::path& path,
                                                       const CpuExecutorOptions& options, const Clock& clock,
                                                       LoadProgress progress) {
  auto runtime = make_cpu_runtime(options);
  if (!runtime) return runtime.error();
  auto planned = open_model(path, weight_place(options));
  if (!planned) return planned.error();
  return load(std::move(*planned), std::move(*runtime), options, clock, std::move(progress));
}

Result<std::unique_ptr<CpuExecutor>> CpuExecutor::load(PlannedModel planned, CpuRuntime runtime,
                                                       const CpuExecutorOptions& options, const Clock& clock,
                                                       LoadProgress progress) {
  auto model = load_model(std::move(planned), *runtime.pool, std::move(progress));
  if (!model) return model.error();
  const auto plan = plan_memory(*model->decoder, model->weight_bytes, false, available_memory_bytes(), options);
  if (!plan) return plan.error();
  auto arena = KvArena::create(model->decoder->kv_layout(options.kv_type, options.block_tokens), plan->kv_blocks);
  if (!arena) return arena.error();
  auto executor = std::unique_ptr<CpuExecutor>(
      new CpuExecutor(std::move(runtime), std::move(*model), std::move(*arena), *plan, options, clock));
  if (Status status = executor->reserve(options); !status) return status.error();
  return executor;
}

CpuExecutor::CpuExecutor(CpuRuntime runtime, LoadedModel model, KvArena arena, const MemoryPlan& plan,
                         const CpuExecutorOptions& options, const Clock& clock)
    : runtime_(std::move(runtime)), model_(std::move(model)), arena_(std::move(arena)), plan_(plan), clock_(clock) {
  capabilities_.model_name = model_.name;
  capabilities_.vocab_size = model_.decoder->hyperparameters().vocabulary;
  capabilities_.context_tokens = plan_.context_tokens;
  capabilities_.max_sequences = options.max_sequences;
  capabilities_.max_step_tokens = options.max_step_tokens;
  capabilities_.depth = 1;
  capabilities_.groups = {{plan_.kv_block_tokens, plan_.kv_blocks, plan_.kv_block_bytes}};
  limits_ = {capabilities_.vocab_size, plan_.context_tokens, options.max_step_tokens, plan_.kv_blocks,
             plan_.kv_block_tokens};
  best_ = std::vector<RowBest>(kLogitRows);
  scratch_.resize(static_cast<std::size_t>(runtime_.pool->threads()));
}

Status CpuExecutor::reserve(const CpuExecutorOptions& options) {
  if (!logits_.reserve(kLogitRows * capabilities_.vocab_size * sizeof(float))) {
    return Error{ErrorCode::kResourceExhausted, "no memory for the logits of a step", {}};
  }
  return workspace_.reserve(model_.decoder->workspace_shape(), workspace_limits(options));
}

Status CpuExecutor::open(SequenceSpec spec) {
  if (sequences_.contains(spec.id)) return Error::internal(name_of(spec.id) + " is open already");
  if (sequences_.size() >= capabilities_.max_sequences) {
    return Error::internal("all " + std::to_string(capabilities_.max_sequences) + " sequences are open");
  }
  if (Status status = validate(spec.sampling); !status) return status;
  sequences_.try_emplace(spec.id, std::move(spec.sampling), std::move(spec.end_tokens), spec.known_tokens,
                         spec.prompt_tokens);
  return {};
}

void CpuExecutor::close(SequenceId sequence) noexcept {
  sequences_.erase(sequence);
}

Result<StepTicket> CpuExecutor::submit(const BoundStep& step) {
  if (step_submitted_) return Error::internal("a step is under way");
  samplers_.clear();
  for (const BoundEntry& entry : step.entries) {
    const auto found = sequences_.find(entry.sequence);
    if (found == sequences_.end()) return Error::internal(name_of(entry.sequence) + " is not open");
    if (std::find(samplers_.begin(), samplers_.end(), &found->second) != samplers_.end()) {
      return Error::internal(name_of(entry.sequence) + " is in the step twice");
    }
    samplers_.push_back(&found->second);
  }
  if (Status status = batch_.assign(step, limits_); !status) return status.error();
  step_ = step;
  step_submitted_ = true;
  return StepTicket{step.id};
}

Result<StepResult> CpuExecutor::collect(StepTicket ticket) {
  if (!step_submitted_ || ticket.id != step_.id) return Error::internal("no such step");
  step_submitted_ = false;
  const TimePoint start = clock_.now();
  StepResult result = std::exchange(spare_, {});
  result.id = step_.id;
  try {
    if (Status status = compute(result); !status) return status.error();
  } catch (const std::exception& problem) {  // memory ran out
    return Error::internal(std::string("the step could not be computed: ") + problem.what());
  }
  if (workspace_.phases != nullptr) workspace_.phases->leave();
  result.measured = clock_.now() - start;
  return result;
}

Status CpuExecutor::compute(StepResult& result) {
  result.entries.clear();
  result.entries.resize(step_.entries.size());
  for (std::size_t i = 0; i < step_.entries.size(); ++i) result.entries[i].sequence = step_.entries[i].sequence;
  if (step_.entries.empty()) return {};
  const Compute compute = runtime_.compute();
  if (Status status = model_.decoder->forward(compute, batch_.rows(), arena_.cache(), workspace_); !status)
    return status;
  for (std::size_t i = 0; i < step_.entries.size(); ++i) {
    samplers_[i]->feed(step_.entries[i].first_position, step_.entries[i].tokens);
  }
  const std::span<const LogitRow> rows = batch_.logit_rows();
  for (std::size_t first = 0; first < rows.size(); first += kLogitRows) {
    const std::size_t count = std::min(kLogitRows, rows.size() - first);
    if (Status status = finish_rows(rows.subspan(first, count), result); !status) return status;
  }
  return {};
}

bool CpuExecutor::wants_best_only(const LogitRow& row) const {
  return row.target < 0 && samplers_[row.entry]->wants_best_only(step_.entries[row.entry].suppress_end_tokens);
}

Status CpuExecutor::finish_rows(std::span<const LogitRow> rows, StepResult& result) {
  tile_.clear();
  for (const LogitRow& row : rows) {
    if (!wants_best_only(row)) tile_.push_back(row);
  }
  const std::size_t full = tile_.size();
  for (const LogitRow& row : rows) {
    if (wants_best_only(row)) tile_.push_back(row);
  }
  tile_rows_.clear();
  for (const LogitRow& row : tile_) tile_rows_.push_back(row.row);
  const MatrixView logits{logits_.as<float>(), full, capabilities_.vocab_size, capabilities_.vocab_size};
  const std::span<RowBest> best = std::span(best_).first(tile_.size() - full);
  const Compute compute = runtime_.compute();
  if (Status status = model_.decoder->logits(compute, tile_rows_, workspace_, {logits, best}); !status) return status;
  workspace_.enter(StepPhase::kSample);
  outcomes_.assign(tile_.size(), {});
  const auto finish = [&](std::size_t i, int worker) {
    finish_row(tile_[i], {logits.row(i), logits.cols}, scratch_[static_cast<std::size_t>(worker)], outcomes_[i]);
  };
  runtime_.pool->run(full, std::cref(finish));  // by reference: nothing is allocated for it
  for (std::size_t i = full; i < tile_.size(); ++i)
    take_sample(SamplerState::sample_best(best[i - full]), outcomes_[i]);
  for (std::size_t i = 0; i < tile_.size(); ++i) {
    EntryResult& entry = result.entries[tile_[i].entry];
    if (entry.outcome == EntryOutcome::kFailed) continue;
    if (outcomes_[i].outcome != EntryOutcome::kComputed) entry.outcome = outcomes_[i].outcome;
    if (entry.outcome == EntryOutcome::kFailed) entry.error = std::move(outcomes_[i].error);
    if (entry.outcome == EntryOutcome::kSampled) entry.sampled = std::move(outcomes_[i].sampled);
    for (PromptLogprob& logprob : outcomes_[i].prompt_logprobs) entry.prompt_logprobs.push_back(std::move(logprob));
  }
  return {};
}

void CpuExecutor::finish_row(const LogitRow& row, std::span<const float> logits, SamplerScratch& scratch,
                             EntryResult& entry) const {
  const SamplerState& sampler = *samplers_[row.entry];
  const BoundEntry& bound = step_.entries[row.entry];
  const KernelTable& kernels = kernel_table(runtime_.isa);
  try {
    if (row.target >= 0) {
      auto scored = prompt_logprob(logits, row.target, sampler.params().top_logprobs, kernels, scratch.candidates);
      if (scored) {
        entry.prompt_logprobs.push_back(std::move(*scored));
        return;
      }
      entry.error = scored.error();
    } else {
      const auto position = static_cast<std::uint32_t>(bound.first_position + bound.tokens.size() - 1);
      take_sample(sampler.sample({logits, position, bound.suppress_end_tokens}, kernels, scratch), entry);
      return;
    }
  } catch (const std::exception& problem) {  // memory ran out: this sequence fails, others do not
    entry.error = Error::internal(std::string("the row could not be sampled: ") + problem.what());
  }
  entry.outcome = EntryOutcome::kFailed;
}

Status CpuExecutor::check_block(GroupId group, BlockId block, std::size_t bytes) const {
  if (group.value != 0 || block.value >= plan_.kv_blocks) {
    return Error::internal("there is no KV block " + std::to_string(block.value) + " in group " +
                           std::to_string(group.value));
  }
  if (bytes != plan_.kv_block_bytes) {
    return Error::internal("a KV block has " + std::to_string(plan_.kv_block_bytes) + " bytes, not " +
                           std::to_string(bytes));
  }
  return {};
}

Status CpuExecutor::read_block(GroupId group, BlockId block, std::span<std::byte> bytes) const {
  if (Status status = check_block(group, block, bytes.size()); !status) return status;
  std::memcpy(bytes.data(), arena_.block(block.value).data(), bytes.size());
  return {};
}

Status CpuExecutor::write_block(GroupId group, BlockId block, std::span<const std::byte> bytes) {
  if (Status status = check_block(group, block, bytes.size()); !status) return status;
  std::memcpy(arena_.block(block.value).data(), bytes.data(), bytes.size());
  return {};
}

}  // namespace takt
