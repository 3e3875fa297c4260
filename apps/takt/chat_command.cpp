// `takt chat`: a conversation in the terminal, with a running server or with a model in this process.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/random.h"
#include "chat_client.h"
#include "commands.h"
#include "config/server_config.h"
#include "launch.h"

namespace takt::app {
namespace {

struct Arguments {
  ServerAddress server;
  std::string model;  // in this process
  std::string system;
};

std::atomic<int> interrupts{0};

// Ctrl-C stops an answer, never the program. Without SA_RESTART: a read of the terminal comes back.
void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = [](int) { interrupts.fetch_add(1, std::memory_order_relaxed); };
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, nullptr);
}

void put(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

// Lines of standard input.
class LineReader {
 public:
  enum class Outcome { kLine, kInterrupted, kEnd };

  Outcome read(std::string& line) {
    for (;;) {
      if (const auto end = buffer_.find('\n'); end != std::string::npos) {
        line = buffer_.substr(0, end);
        buffer_.erase(0, end + 1);
        return Outcome::kLine;
      }
      char bytes[4096];
      const ssize_t count = ::read(STDIN_FILENO, bytes, sizeof(bytes));
      if (count < 0 && errno == EINTR) return Outcome::kInterrupted;
      if (count <= 0) {
        line = std::exchange(buffer_, {});
        return line.empty() ? Outcome::kEnd : Outcome::kLine;
      }
      buffer_.append(bytes, static_cast<std::size_t>(count));
    }
  }

 private:
  std::string buffer_;
};

std::string figures(const ChatAnswer& answer) {
  char text[128];
  const auto first = measure::time_to_first_token(answer.times);
  if (!first) return "[no tokens]";
  std::string line = "[";
  if (answer.stopped) line += "stopped, ";
  std::snprintf(text, sizeof(text), "%u tokens, first after %.2f s", answer.times.tokens, to_seconds(*first));
  line += text;
  const auto per_token = measure::time_per_output_token(answer.times);
  if (per_token && *per_token > Duration(0)) {
    std::snprintf(text, sizeof(text), ", %.1f tokens/s", 1.0 / to_seconds(*per_token));
    line += text;
  }
  return line + "]";
}

class Conversation {
 public:
  Conversation(ServerAddress server, std::string system) : server_(std::move(server)), system_(std::move(system)) {
    reset();
  }

  void reset() {
    messages_.clear();
    if (!system_.empty()) messages_.push_back({"system", system_});
  }

  // Prints the answer as it comes. What was said stays in the history, also of an answer that was stopped.
  void say(const std::string& line) {
    messages_.push_back({"user", line});
    const int before = interrupts.load();
    const auto answer = ask(server_, messages_, put, [before] { return interrupts.load() != before; });
    if (!answer) {
      put("\nerror: " + answer.error().message + "\n");
      messages_.pop_back();
      return;
    }
    messages_.push_back({"assistant", answer->text});
    put("\n" + figures(*answer) + "\n");
  }

 private:
  const ServerAddress server_;
  const std::string system_;
  std::vector<ChatMessage> messages_;
};

ExitCode converse(ServerAddress server, const std::string& system) {
  catch_interrupts();
  put("Ctrl-C stops an answer, /reset begins anew, /exit ends.\n");
  Conversation conversation(std::move(server), system);
  LineReader reader;
  for (;;) {
    put("> ");
    std::string line;
    const auto outcome = reader.read(line);
    if (outcome == LineReader::Outcome::kEnd) break;
    if (outcome == LineReader::Outcome::kInterrupted) {
      put("\n");
      continue;
    }
    if (line == "/exit") return ExitCode::kDone;
    if (line == "/reset") {
      conversation.reset();
    } else if (!line.empty()) {
      conversation.say(line);
    }
  }
  put("\n");
  return ExitCode::kDone;
}

// A server of our own on a free port, with a key that nobody else knows.
ExitCode converse_in_process(const Arguments& arguments) {
  config::ServerConfig config;
  config.http.port = 0;
  config.process.models = {arguments.model};
  const std::string key = "chat-" + std::to_string(fresh_seed()) + std::to_string(fresh_seed());
  auto keys = route::KeyRing::create({{key, {}, {}}});
  if (!keys) return fail(ExitCode::kFault, keys.error());
  auto launched = launch(config, std::move(*keys));
  if (const auto* failure = std::get_if<LaunchFailure>(&launched)) return fail(failure->code, failure->error);
  return converse({config.http.host, std::get<0>(launched)->port(), key}, arguments.system);
}

ExitCode run_chat(const Arguments& arguments) {
  set_up_logging("warning");
  if (!arguments.model.empty()) return converse_in_process(arguments);
  return converse(arguments.server, arguments.system);
}

}  // namespace

void add_chat_command(CLI::App& app, ChosenCommand& chosen) {
  auto* command = app.add_subcommand("chat", "Talk to a model in the terminal");
  auto arguments = std::make_shared<Arguments>();
  command->add_option("--host", arguments->server.host, "Where the server is");
  command->add_option("--port", arguments->server.port, "Its port");
  command->add_option("--api-key", arguments->server.api_key, "Its key");
  command->add_option("--model", arguments->model, "No server: run this model here (GGUF file, name or fake:SCRIPT)");
  command->add_option("--system", arguments->system, "System message");
  command->callback([&chosen, arguments] { chosen = [arguments] { return run_chat(*arguments); }; });
}

}  // namespace takt::app
