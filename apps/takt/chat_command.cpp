// `takt chat`: a conversation in the terminal, with a running server or with a model in this process.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/log.h"
#include "base/random.h"
#include "chat_client.h"
#include "chat_dialogue.h"
#include "commands.h"
#include "config/server_config.h"
#include "launch.h"
#include "number_in.h"

namespace takt::app {
namespace {

struct ChatArguments {
  ServerAddress server;
  std::optional<std::string> model;  // in this process
  AnswerSettings settings;
  std::string system;
};

// A server of our own on a free port, with a key that nobody else knows.
ExitCode converse_in_process(const ChatArguments& arguments) {
  config::ServerConfig config;
  config.http.port = 0;
  config.process.models = {*arguments.model};
  const std::string key = "chat-" + std::to_string(fresh_seed()) + std::to_string(fresh_seed());
  config.route.keys = {{.key = key}};
  auto launched = launch(config, nullptr, stderr);
  if (const auto* failure = std::get_if<LaunchFailure>(&launched)) return fail(failure->code, failure->error);
  return converse({config.http.host, std::get<0>(launched)->port(), key}, arguments.settings, arguments.system);
}

ExitCode run_chat(const ChatArguments& arguments) {
  set_up_logging("warning");
  if (arguments.model) return converse_in_process(arguments);
  if (const auto status = check(arguments.server); !status) return fail(ExitCode::kUsage, status.error());
  return converse(arguments.server, arguments.settings, arguments.system);
}

}  // namespace

void add_chat_command(CLI::App& app, ChosenCommand& chosen) {
  auto* command = app.add_subcommand(
      "chat", "Talk to a model in the terminal; piped lines are messages, and only the answers go to standard output");
  auto arguments = std::make_shared<ChatArguments>();
  auto* host = command->add_option("--host", arguments->server.host, "Where the server is");
  auto* port = command->add_option("--port", arguments->server.port, "Its port")->check(CLI::Range(1, 65535));
  command->add_option("--api-key", arguments->server.api_key, "Its key")->envname("TAKT_API_KEY");
  command->add_option("--model", arguments->model, "No server: run this model here (GGUF file, name or fake:SCRIPT)")
      ->excludes(host, port);
  command->add_option("--system", arguments->system, "System message");
  command->add_option("--temperature", arguments->settings.temperature, "0: always the likeliest token")
      ->check(number_in(0.0, 2.0));
  command->add_option("--max-tokens", arguments->settings.max_tokens, "Longest answer")->check(CLI::Range(1, 1 << 30));
  command->callback([&chosen, arguments] { chosen = [arguments] { return run_chat(*arguments); }; });
}

}  // namespace takt::app
