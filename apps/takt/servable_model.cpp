#include "servable_model.h"

#include <utility>

#include "control_tokens.h"
#include "exec/cpu/cpu_executor.h"
#include "exec/fake/fake_executor.h"
#include "readable_bytes.h"

namespace takt::app {
namespace {

Status add_text_side(ModelVocabulary vocabulary, ServableModel& model) {
  if (!vocabulary.chat_template.empty()) {
    auto chat_template = ChatTemplate::compile(vocabulary.chat_template, control_tokens(vocabulary));
    if (chat_template) {
      model.chat_template = std::move(*chat_template);
    } else {
      model.notes.push_back("warning: its chat template cannot be used, so chat is refused: " +
                            chat_template.error().message);
    }
  }
  auto tokenizer = Tokenizer::create(std::move(vocabulary));
  if (!tokenizer) return tokenizer.error();
  model.tokenizer = std::move(*tokenizer);
  return {};
}

Result<ServableModel> script_model(const ModelSource& source, const Clock& clock) {
  ServableModel model;
  model.name = source.name;
  model.notes.push_back("a scripted model: no weights, made-up answers");
  if (auto status = add_text_side(fake_vocabulary(*source.script), model); !status) return status.error();
  model.executor = make_fake_executor(*source.script, clock, sleep_for_real());
  return model;
}

std::string kv_note(const MemoryPlan& plan) {
  std::string note = "KV: " + std::to_string(plan.kv_blocks) + " blocks of " + std::to_string(plan.kv_block_tokens) +
                     " tokens, " + readable_bytes(plan.kv_bytes()) + "; conversations that fit at once:";
  for (const std::uint32_t tokens : {1024U, 4096U, 32768U}) {
    if (tokens > plan.context_tokens) continue;
    note += ' ';
    note += std::to_string(plan.conversations(tokens)) + " of " + std::to_string(tokens) + " tokens,";
  }
  note.pop_back();
  return note;
}

Result<ServableModel> weights_model(const ModelSource& source, const config::ServerConfig& config, int threads,
                                    const Clock& clock, const LoadProgress& progress) {
  CpuExecutorOptions options = config.compute;
  options.threads = threads;
  options.max_sequences = config.engine.sched.max_sequences;
  auto executor = CpuExecutor::load(source.path, options, clock, progress);
  if (!executor) return executor.error();
  const MemoryPlan& plan = (*executor)->memory_plan();
  ServableModel model;
  model.name = source.name;
  model.notes.push_back(source.path + ", " + std::string(isa_name((*executor)->runtime().isa)) + ", weights " +
                        readable_bytes(plan.weight_bytes) + ", workspace " + readable_bytes(plan.workspace_bytes) +
                        ", context " + std::to_string(plan.context_tokens) + " tokens");
  model.notes.push_back(kv_note(plan));
  if (auto status = add_text_side((*executor)->vocabulary(), model); !status) return status.error();
  model.executor = std::move(*executor);
  return model;
}

}  // namespace

Result<ServableModel> load_servable_model(const ModelSource& source, const config::ServerConfig& config, int threads,
                                          const Clock& clock, const LoadProgress& progress) {
  if (source.script) return script_model(source, clock);
  return weights_model(source, config, threads, clock, progress);
}

}  // namespace takt::app
