#include "exec/cpu/logprob_probe.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "exec/cpu/memory_plan.h"
#include "sampling/logprobs.h"

namespace takt {
namespace {

constexpr std::uint32_t kSpread = 16;

// Sixteen positions spread evenly from the first to the last but one, the last, those of generated tokens, and those
// asked for.
std::vector<std::uint32_t> wanted_positions(const LogprobQuery& query) {
  const auto prompt = static_cast<std::uint32_t>(query.prompt_ids.size());
  std::vector<std::uint32_t> out;
  if (prompt <= kSpread + 1) {
    for (std::uint32_t i = 0; i + 1 < prompt; ++i) out.push_back(i);
  } else {
    // i * (prompt - 2) / 15, rounded to the nearest
    for (std::uint32_t i = 0; i < kSpread; ++i)
      out.push_back((2 * i * (prompt - 2) + kSpread - 1) / (2 * (kSpread - 1)));
  }
  for (std::uint32_t i = 0; i < std::max(1U, query.generate); ++i) out.push_back(prompt - 1 + i);
  for (const IdsAtPosition& at : query.ids_at) out.push_back(at.position);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace

Result<std::unique_ptr<LogprobProbe>> LogprobProbe::load(const std::filesystem::path& path,
                                                         const CpuExecutorOptions& options) {
  auto runtime = make_cpu_runtime(options);
  if (!runtime) return runtime.error();
  auto model = load_model(path, *runtime->pool, {}, weight_place(options));
  if (!model) return model.error();
  std::uint32_t context = model->decoder->hyperparameters().context_length;
  if (options.max_context_tokens != 0) context = std::min(context, options.max_context_tokens);
  const KvLayout layout = model->decoder->kv_layout(options.kv_type, options.block_tokens);
  if (Status status = layout.check(); !status) return status.error();
  auto arena = KvArena::create(layout, (context + layout.block_tokens - 1) / layout.block_tokens);
  if (!arena) return arena.error();
  const std::uint32_t chunk = std::max(1U, options.max_step_tokens);
  auto probe =
      std::unique_ptr<LogprobProbe>(new LogprobProbe(std::move(*runtime), std::move(*model), std::move(*arena), chunk));
  const WorkspaceShape shape = probe->model_.decoder->workspace_shape();
  if (Status status = probe->workspace_.reserve(shape, {.rows = chunk, .logit_rows = kLogitRows}); !status)
    return status.error();
  if (!probe->logits_.reserve(kLogitRows * shape.vocabulary * sizeof(float))) {
    return Error{ErrorCode::kResourceExhausted, "no memory for logits", {}};
  }
  return probe;
}

LogprobProbe::LogprobProbe(CpuRuntime runtime, LoadedModel model, KvArena arena, std::uint32_t chunk)
    : runtime_(std::move(runtime)),
      model_(std::move(model)),
      arena_(std::move(arena)),
      chunk_(chunk),
      blocks_(arena_.cache().block_count) {
  std::iota(blocks_.begin(), blocks_.end(), 0U);
}

Status LogprobProbe::check(const LogprobQuery& query) const {
  const Hyperparameters& h = model_.decoder->hyperparameters();
  const std::uint64_t room = std::uint64_t{arena_.cache().block_count} * arena_.cache().layout.block_tokens;
  const std::uint64_t length = query.prompt_ids.size() + std::uint64_t{query.generate};
  const auto known = [&](TokenId id) { return id >= 0 && static_cast<std::uint32_t>(id) < h.vocabulary; };
  if (query.prompt_ids.empty()) return Error::invalid("prompt_ids", "prompt_ids must have at least one id");
  if (length > room) {
    return Error{
        ErrorCode::kContextLength,
        std::to_string(length) + " tokens (prompt and generate) are more than the context of " + std::to_string(room),
        "prompt_ids"};
  }
  if (query.top > kMostTop) return Error::invalid("top", "top must be at most " + std::to_string(kMostTop));
  if (!std::all_of(query.prompt_ids.begin(), query.prompt_ids.end(), known)) {
    return Error::invalid("prompt_ids", "prompt_ids must be from 0 to " + std::to_string(h.vocabulary - 1));
  }
  for (const IdsAtPosition& at : query.ids_at) {
    const std::uint64_t end = query.generate > 0 ? length - 1 : length;  // the last generated token is not fed
    if (at.position >= end) return Error::invalid("ids_at", "ids_at: pos must be below " + std::to_string(end));
    if (!std::all_of(at.ids.begin(), at.ids.end(), known)) {
      return Error::invalid("ids_at", "ids_at: ids must be from 0 to " + std::to_string(h.vocabulary - 1));
    }
  }
  return {};
}

Result<LogprobAnswer> LogprobProbe::answer(const LogprobQuery& query) {
  if (Status status = check(query); !status) return status.error();
  wanted_ = wanted_positions(query);
  LogprobAnswer answer;
  const std::span<const TokenId> prompt = query.prompt_ids;
  for (std::size_t first = 0; first < prompt.size(); first += chunk_) {
    const auto part = prompt.subspan(first, std::min<std::size_t>(chunk_, prompt.size() - first));
    if (Status status = feed(query, part, static_cast<std::uint32_t>(first), answer); !status) return status.error();
  }
  for (std::uint32_t i = 0; i < query.generate; ++i) {
    const TokenId next = answer.positions.back().argmax;
    answer.greedy_ids.push_back(next);
    if (i + 1 == query.generate) break;
    const auto position = static_cast<std::uint32_t>(prompt.size() + i);
    if (Status status = feed(query, {&next, 1}, position, answer); !status) return status.error();
  }
  return answer;
}

Status LogprobProbe::feed(const LogprobQuery& query, std::span<const TokenId> tokens, std::uint32_t first_position,
                          LogprobAnswer& answer) {
  std::vector<std::uint32_t> positions(tokens.size());
  std::iota(positions.begin(), positions.end(), first_position);
  const AttentionRows sequence{.blocks = blocks_,
                               .first_position = first_position,
                               .count = static_cast<std::uint32_t>(tokens.size()),
                               .first_row = 0};
  const StepRows rows{tokens, positions, {&sequence, 1}};
  if (Status status = model_.decoder->forward(runtime_.compute(), rows, arena_.cache(), workspace_); !status)
    return status;
  std::vector<std::uint32_t> scored;
  for (const std::uint32_t position : wanted_) {
    if (position < first_position || position - first_position >= tokens.size()) continue;
    scored.push_back(position - first_position);
    if (scored.size() == kLogitRows) {
      if (Status status = score(query, scored, first_position, answer); !status) return status;
      scored.clear();
    }
  }
  return scored.empty() ? Status() : score(query, scored, first_position, answer);
}

Status LogprobProbe::score(const LogprobQuery& query, std::span<const std::uint32_t> rows, std::uint32_t first_position,
                           LogprobAnswer& answer) {
  const std::size_t vocabulary = model_.decoder->hyperparameters().vocabulary;
  const MatrixView logits{logits_.as<float>(), rows.size(), vocabulary, vocabulary};
  if (Status status = model_.decoder->logits(runtime_.compute(), rows, workspace_, {logits, {}}); !status)
    return status;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::span<const float> row(logits.row(i), vocabulary);
    if (Status status = check_logits(row); !status) return status;
    answer.positions.push_back(describe(query, first_position + rows[i], row));
  }
  return {};
}

PositionLogprobs LogprobProbe::describe(const LogprobQuery& query, std::uint32_t position,
                                        std::span<const float> logits) {
  const float normalizer = log_normalizer(kernel_table(runtime_.isa), logits);
  PositionLogprobs out;
  out.position = position;
  for (const TokenLogprob& best : top_logprobs(logits, normalizer, std::max(1U, query.top), candidates_)) {
    out.top_ids.push_back(best.token);
    out.top_logprobs.push_back(best.logprob);
  }
  out.argmax = out.top_ids.front();
  if (query.top == 0) {
    out.top_ids.clear();
    out.top_logprobs.clear();
  }
  for (const IdsAtPosition& at : query.ids_at) {
    if (at.position != position) continue;
    for (const TokenId id : at.ids) {
      out.ids.push_back(id);
      out.logprobs.push_back(logprob_of(logits, normalizer, id));
    }
  }
  return out;
}

}  // namespace takt
