#include "servable_model.h"

#include <algorithm>
#include <functional>
#include <future>
#include <utility>

#include "base/cpu_topology.h"
#include "control_tokens.h"
#include "exec/cpu/cpu_executor.h"
#include "exec/cpu/memory_plan.h"
#include "exec/cpu/step_estimate.h"
#include "exec/fake/fake_executor.h"
#include "kernels/machine_peaks.h"
#include "model/load.h"
#include "model/matrix_work.h"
#include "readable_bytes.h"
#include "swap/open_store.h"
#include "swap/page_codec.h"

namespace takt::app {
namespace {

// What stands between text and tokens.
struct TextSide {
  std::shared_ptr<const Tokenizer> tokenizer;
  std::shared_ptr<const ChatTemplate> chat_template;
  std::string template_error;
  Duration took{0};
};

Result<TextSide> make_text_side(ModelVocabulary vocabulary, const Clock& clock) {
  const TimePoint start = clock.now();
  TextSide text;
  if (!vocabulary.chat_template.empty()) {
    auto chat_template = ChatTemplate::compile(vocabulary.chat_template, control_tokens(vocabulary));
    if (chat_template) {
      text.chat_template = std::move(*chat_template);
    } else {
      text.template_error = chat_template.error().message;
    }
  }
  auto tokenizer = Tokenizer::create(std::move(vocabulary));
  if (!tokenizer) return tokenizer.error();
  text.tokenizer = std::move(*tokenizer);
  text.took = clock.now() - start;
  return text;
}

Status add_text_side(Result<TextSide> text, ServableModel& model) {
  if (!text) return text.error();
  model.tokenizer = std::move(text->tokenizer);
  model.chat_template = std::move(text->chat_template);
  model.template_error = std::move(text->template_error);
  model.start.text = text->took;
  if (!model.template_error.empty())
    model.notes.push_back("warning: its chat template cannot be used, so chat is refused: " + model.template_error);
  return {};
}

Result<ServableModel> script_model(const ModelSource& source, const Clock& clock) {
  ServableModel model;
  model.name = source.name;
  model.notes.push_back(
      "a scripted model: no weights, made-up answers; its script and not compute.* says what it can hold");
  if (auto status = add_text_side(make_text_side(fake_vocabulary(*source.script), clock), model); !status)
    return status.error();
  model.executor = make_fake_executor(*source.script, clock, sleep_for_real());
  return model;
}

std::string kv_note(const MemoryPlan& plan, KvType type) {
  std::string note = "KV: " + std::string(kv_type_name(type)) + ", " + std::to_string(plan.kv_blocks) + " blocks of " +
                     std::to_string(plan.kv_block_tokens) + " tokens, " + readable_bytes(plan.kv_bytes()) +
                     "; conversations whose memory fits at once:";
  for (const std::uint32_t tokens : {1024U, 4096U, 32768U}) {
    if (tokens > plan.context_tokens) continue;
    note += ' ';
    note += std::to_string(plan.conversations(tokens)) + " of " + std::to_string(tokens) + " tokens,";
  }
  note.pop_back();
  return note + " (scheduler.max_sequences bounds how many run)";
}

// What was asked for is kept or refused: a pool that is given holds a whole context, and fits this machine. Before
// anything is loaded, since that may take minutes.
Status check_pool(const MemoryPlan& plan, const CpuExecutorOptions& options) {
  if (options.kv_bytes > plan.available_bytes) {
    return Error::invalid("compute.kv_bytes", "compute.kv_bytes is " + std::to_string(options.kv_bytes) + ", " +
                                                  std::to_string(plan.available_bytes) +
                                                  " bytes are there beside weights and workspace");
  }
  const bool given = options.kv_bytes != 0 || options.kv_blocks != 0;
  if (!given || plan.conversations(plan.context_tokens) > 0) return {};
  const std::string key = options.kv_blocks != 0 ? "compute.kv_blocks" : "compute.kv_bytes";
  const std::uint32_t blocks = (plan.context_tokens + plan.kv_block_tokens - 1) / plan.kv_block_tokens;
  return Error::invalid(key, key + " gives " + std::to_string(plan.kv_blocks) + " blocks of " +
                                 std::to_string(plan.kv_block_tokens) + " tokens, a context of " +
                                 std::to_string(plan.context_tokens) + " tokens needs " + std::to_string(blocks) +
                                 " (" + std::to_string(blocks * plan.kv_block_bytes) +
                                 " bytes): give more, or lower compute.max_context_tokens");
}

Status check_memory(const LoadedModel& model, const CpuExecutorOptions& options) {
  const auto plan = plan_memory(*model.decoder, model.weight_bytes, true, available_memory_bytes(), options);
  return plan ? check_pool(*plan, options) : Status(plan.error());
}

metrics::ModelWork work_of(const MatrixWork& matrices, const CpuRuntime& runtime) {
  const MachinePeaks peaks = measure_machine_peaks(*runtime.pool, runtime.isa);
  return {static_cast<double>(matrices.bytes), static_cast<double>(matrices.layer_elements),
          static_cast<double>(matrices.output_elements), peaks.read, peaks.multiply.int8};
}

// The warm-up of an engine runs about so many rows, up to steps of 16, before it can tell what a row costs and what a
// step. Nothing where it has the time for them.
Result<std::vector<StepSample>> estimate_long_steps(CpuExecutor& executor, Duration warm_up) {
  constexpr int kTellingRows = 45;
  StepEstimate estimate(executor);
  // The first one touches everything for the first time.
  Duration one_row = Duration::max();
  for (int i = 0; i < 2; ++i) {
    const auto time = estimate.step({0, 1});
    if (!time) return time.error();
    one_row = std::min(one_row, *time);
  }
  std::vector<StepSample> samples;
  if (one_row * kTellingRows <= warm_up) return samples;
  const auto steps = estimate.telling_steps();
  if (!steps) return steps.error();
  for (const EstimatedStep& step : *steps) {
    StepSample& sample = samples.emplace_back();
    sample.measured = step.time;
    sample.features.tokens = step.load.tokens;
    sample.features.decode_rows = sample.features.logits_rows = step.load.tokens == 1 ? 1 : 0;
    sample.features.attended_positions = attended_by(step.load.position, step.load.tokens);
  }
  samples.front().measured = std::min(samples.front().measured, one_row);  // another program can only slow one down
  return samples;
}

void note_memory(const ModelSource& source, const CpuExecutor& executor, const CpuExecutorOptions& options,
                 ServableModel& model) {
  const MemoryPlan& plan = executor.memory_plan();
  model.notes.push_back(source.path + ", " + std::string(isa_name(executor.runtime().isa)) + ", weights " +
                        readable_bytes(plan.weight_bytes) +
                        (options.repack ? "" : " in memory, the rest read from the file in every step") +
                        ", workspace " + readable_bytes(plan.workspace_bytes) + ", context " +
                        std::to_string(plan.context_tokens) + " tokens");
  model.notes.push_back(kv_note(plan, options.kv_type));
  if (plan.conversations(plan.context_tokens) == 0) {
    model.notes.push_back("warning: KV has room for " + std::to_string(plan.kv_blocks * plan.kv_block_tokens) +
                          " tokens, less than the context: longer requests are refused");
  }
}

Result<ServableModel> weights_model(const ModelSource& source, const ModelSetting& setting,
                                    const LoadProgress& progress) {
  CpuExecutorOptions options = setting.config.compute;
  options.threads = setting.threads;
  options.max_sequences = setting.config.engine.sched.max_sequences;
  ServableModel model;
  model.name = source.name;
  TimePoint since = setting.clock.now();
  const auto lap = [&] { return setting.clock.now() - std::exchange(since, setting.clock.now()); };

  auto runtime = make_cpu_runtime(options);
  if (!runtime) return runtime.error();
  auto planned = open_model(source.path, weight_place(options));
  if (!planned) return planned.error();
  if (Status fits = check_memory(planned->plan, options); !fits) return fits.error();
  model.start.metadata = lap();

  // The machine is measured before the weights are in memory: that takes some.
  auto text = std::async(make_text_side, planned->plan.vocabulary, std::cref(setting.clock));
  if (const auto matrices = matrix_work(planned->file)) model.work = work_of(*matrices, *runtime);
  model.start.machine = lap();

  auto executor = CpuExecutor::load(std::move(*planned), std::move(*runtime), options, setting.clock, progress);
  if (!executor) return executor.error();
  model.start.weights = lap();
  auto samples = estimate_long_steps(**executor, setting.config.engine.warm_up);
  if (!samples) return samples.error();
  model.step_samples = std::move(*samples);
  model.start.steps = lap();

  note_memory(source, **executor, options, model);
  if (auto status = add_text_side(text.get(), model); !status) return status.error();
  model.executor = std::move(*executor);
  return model;
}

std::string swap_note(const SwapStoreInfo& info, const SwapOptions& options) {
  const std::size_t stride = arena_stride(info.page_bytes);
  std::string note = "swap arena: " + readable_bytes(stride * info.pages) + ", " + info.description + ", " +
                     std::to_string(info.pages) + " pages of " + readable_bytes(info.page_bytes);
  if (stride > info.page_bytes) note += ", each in " + readable_bytes(stride);
  note += "; buffers of " + readable_bytes(info.staging_bytes);
  if (info.staging_bytes + 2 * stride <= options.staging_bytes)
    note += ", all that it needs of kv.swap_staging_bytes = " + readable_bytes(options.staging_bytes);
  return note;
}

// Every model has an arena of its own. A file's blocks are taken at once, so the next one finds what is left of the
// disk; the memory of KV pools is not.
Status add_swap_arena(const ModelSetting& setting, ServableModel& model) {
  const SwapOptions& options = setting.config.engine.swap;
  if (!options.wanted()) return {};
  const std::size_t available = available_memory_bytes();
  const std::size_t free_memory = available - std::min(available, setting.promised_memory);
  auto store = open_swap_store(options, model.executor->capabilities().groups, free_memory, setting.clock);
  if (!store) return store.error();
  model.notes.push_back(swap_note((*store)->info(), options));
  model.swap = std::move(*store);
  return {};
}

}  // namespace

Result<ServableModel> load_servable_model(const ModelSource& source, const ModelSetting& setting,
                                          const LoadProgress& progress) {
  auto model = source.script ? script_model(source, setting.clock) : weights_model(source, setting, progress);
  if (!model) return model;
  if (const auto status = add_swap_arena(setting, *model); !status) return status.error();
  return model;
}

std::size_t kv_pool_bytes(const ServableModel& model) {
  std::size_t bytes = 0;
  for (const KvGroupInfo& group : model.executor->capabilities().groups) bytes += group.block_bytes * group.block_count;
  return bytes;
}

}  // namespace takt::app
