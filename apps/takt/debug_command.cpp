// `takt debug`: JSON lines in and out, for people who check us.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/small_file.h"
#include "commands.h"
#include "control_tokens.h"
#include "debug_logprobs.h"
#include "debug_render.h"
#include "debug_tokenize.h"
#include "model/gguf.h"
#include "model/vocabulary.h"
#include "model_source.h"
#include "text/tokenizer.h"

namespace takt::app {
namespace {

struct DebugArguments {
  std::string model;
  std::string template_file;
  CpuExecutorOptions compute;
};

ExitCode exit_code(int code) {
  // A reader that has gone has all that it wants.
  const bool reader_left = std::cout.bad() && errno == EPIPE;
  return code == 0 || reader_left ? ExitCode::kDone : ExitCode::kFault;
}

// The vocabulary of a file or of a scripted model.
Result<ModelVocabulary> vocabulary_of(const ModelSource& source) {
  if (source.script) return fake_vocabulary(*source.script);
  const auto file = GgufFile::open(source.path);
  if (!file) return file.error();
  return read_vocabulary(*file);
}

ExitCode run_tokenize(const DebugArguments& arguments) {
  const auto source = find_model(arguments.model);
  if (!source) return fail(ExitCode::kModel, source.error());
  if (!source->script) return exit_code(run_debug_tokenize(std::filesystem::path(source->path), std::cin, std::cout));
  const auto tokenizer = Tokenizer::create(fake_vocabulary(*source->script));
  if (!tokenizer) return fail(ExitCode::kModel, tokenizer.error());
  return exit_code(run_debug_tokenize(**tokenizer, std::cin, std::cout));
}

ExitCode render_file(const std::string& path) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 20;  // what is no template is told so by its reader
  const auto text = read_small_file(path, kMostBytes, "--template");
  if (!text) return fail(ExitCode::kFile, text.error());
  return exit_code(run_debug_render(*text, std::cin, std::cout));
}

ExitCode run_render(const DebugArguments& arguments) {
  if (arguments.template_file.empty() == arguments.model.empty()) {
    return fail(ExitCode::kUsage, Error::invalid("", "give --template or --model, one of them"));
  }
  if (!arguments.template_file.empty()) return render_file(arguments.template_file);
  const auto source = find_model(arguments.model);
  if (!source) return fail(ExitCode::kModel, source.error());
  const auto vocabulary = vocabulary_of(*source);
  if (!vocabulary) return fail(ExitCode::kModel, vocabulary.error());
  if (vocabulary->chat_template.empty())
    return fail(ExitCode::kModel, Error::invalid("", source->name + " has no chat template"));
  return exit_code(run_debug_render(vocabulary->chat_template, std::cin, std::cout, control_tokens(*vocabulary)));
}

ExitCode run_logprobs(const DebugArguments& arguments) {
  const auto source = find_model(arguments.model);
  if (!source) return fail(ExitCode::kModel, source.error());
  if (source->script) return fail(ExitCode::kUsage, Error::invalid("", "a scripted model has no logits"));
  const auto probe = LogprobProbe::load(source->path, arguments.compute);
  if (!probe) return fail(ExitCode::kModel, probe.error());
  return exit_code(run_debug_logprobs(**probe, std::cin, std::cout));
}

void add_tokenize(CLI::App& debug, const std::shared_ptr<DebugArguments>& arguments, ChosenCommand& chosen) {
  auto* command = debug.add_subcommand("tokenize", R"({"text","add_special"?,"parse_special"?} -> {"ids"})");
  command->add_option("--model", arguments->model, "GGUF file (vocabulary-only ones too), name or fake:SCRIPT")
      ->required();
  command->callback([&chosen, arguments] { chosen = [arguments] { return run_tokenize(*arguments); }; });
}

void add_render(CLI::App& debug, const std::shared_ptr<DebugArguments>& arguments, ChosenCommand& chosen) {
  auto* command =
      debug.add_subcommand("render", R"({"messages","tools"?,"documents"?,"options"?,"now"?} -> {"output"})");
  command->add_option("--template", arguments->template_file, "Jinja file");
  command->add_option("--model", arguments->model, "The template of this model");
  command->callback([&chosen, arguments] { chosen = [arguments] { return run_render(*arguments); }; });
}

void add_logprobs(CLI::App& debug, const std::shared_ptr<DebugArguments>& arguments, ChosenCommand& chosen) {
  auto* command =
      debug.add_subcommand("logprobs", R"({"prompt_ids","generate"?,"top"?,"ids_at"?} -> {"greedy_ids","positions"})");
  command->add_option("--model", arguments->model, "GGUF file or name")->required();
  const std::vector<std::pair<std::string, KvType>> types{
      {"f16", KvType::kF16}, {"f32", KvType::kF32}, {"q8_0", KvType::kQ8_0}};
  command->add_option("--kv-type", arguments->compute.kv_type, "Format of the KV cache: f16, f32 or q8_0")
      ->transform(CLI::CheckedTransformer(types));
  command->add_flag_callback(
      "--no-repack", [arguments] { arguments->compute.repack = false; },
      "Weights stay in the file and are read in every step");
  command->add_option("--threads", arguments->compute.threads, "Compute threads; 0: the cores there are")
      ->check(CLI::Range(0, 1024));
  command->add_option("--max-context-tokens", arguments->compute.max_context_tokens,
                      "Longest prompt and output; 0: the model's own");
  command->callback([&chosen, arguments] { chosen = [arguments] { return run_logprobs(*arguments); }; });
}

}  // namespace

void add_debug_command(CLI::App& app, ChosenCommand& chosen) {
  auto* command =
      app.add_subcommand("debug", "JSON lines in and out, one line out per line in, for checking this program");
  command->require_subcommand(1);
  auto arguments = std::make_shared<DebugArguments>();
  add_tokenize(*command, arguments, chosen);
  add_render(*command, arguments, chosen);
  add_logprobs(*command, arguments, chosen);
}

}  // namespace takt::app
