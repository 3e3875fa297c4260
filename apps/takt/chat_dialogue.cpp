#include "chat_dialogue.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "line_reader.h"
#include "terminal_text.h"

namespace takt::app {
namespace {

constexpr std::string_view kHelp =
    "Ctrl-C stops an answer, \\ at the end of a line goes on in the next one, /reset begins anew, /exit or Ctrl-D "
    "ends.\n";

std::atomic<int> interrupts{0};

// Ctrl-C stops an answer, never the program. Without SA_RESTART: a read of the terminal comes back.
void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = [](int) { interrupts.fetch_add(1, std::memory_order_relaxed); };
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, nullptr);
}

bool put(std::string_view text, std::FILE* to) {
  return std::fwrite(text.data(), 1, text.size(), to) == text.size() && std::fflush(to) == 0;
}

std::string figures(const ChatAnswer& answer) {
  char text[128];
  std::string line = "[";
  if (!answer.model.empty()) line += terminal_line(answer.model) + ": ";
  if (answer.stopped) line += "stopped, ";
  const auto first = measure::time_to_first_token(answer.times);
  if (!first) return line + "no tokens]";
  std::snprintf(text, sizeof(text), "%u tokens, first after %.2f s", answer.times.tokens, to_seconds(*first));
  line += text;
  const auto per_token = measure::time_per_output_token(answer.times);
  if (per_token && *per_token > Duration(0)) {
    std::snprintf(text, sizeof(text), ", %.1f tokens/s", 1.0 / to_seconds(*per_token));
    line += text;
  }
  return line + "]";
}

// A slash and letters alone; a path or a sentence is a message.
bool looks_like_a_command(std::string_view line) {
  return line.size() > 1 && line[0] == '/' &&
         std::all_of(line.begin() + 1, line.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

class Dialogue {
 public:
  Dialogue(ServerAddress server, const AnswerSettings& settings, std::string system, bool interactive)
      : server_(std::move(server)), settings_(settings), system_(std::move(system)), interactive_(interactive) {
    reset();
  }

  ExitCode run();

 private:
  void reset();
  LineReader::Outcome read_message(std::string& message);
  // False for what is no command.
  bool obey(const std::string& line);
  // Prints the answer as it comes. What was said stays in the history, also of an answer that was stopped.
  ExitCode say(const std::string& message);
  ExitCode report(ExitCode code, const Error& error) const;
  void show(std::string_view text);

  const ServerAddress server_;
  const AnswerSettings settings_;
  const std::string system_;
  const bool interactive_;
  LineReader lines_{STDIN_FILENO};
  std::vector<ChatMessage> messages_;
  bool written_ = true;
  bool reader_left_ = false;  // why it was not written
  bool ended_ = false;
};

void Dialogue::show(std::string_view text) {
  if (!written_ || put(text, stdout)) return;
  written_ = false;
  reader_left_ = errno == EPIPE;
}

void Dialogue::reset() {
  messages_.clear();
  if (!system_.empty()) messages_.push_back({"system", system_});
}

LineReader::Outcome Dialogue::read_message(std::string& message) {
  message.clear();
  if (interactive_) show("> ");
  std::string line;
  for (;;) {
    const auto outcome = lines_.read(line);
    if (outcome == LineReader::Outcome::kEnd && !message.empty()) return LineReader::Outcome::kLine;
    if (outcome != LineReader::Outcome::kLine) return outcome;
    if (message.size() + line.size() > LineReader::kMaxLineBytes) return LineReader::Outcome::kTooLong;
    message += line;
    if (!line.ends_with('\\')) return LineReader::Outcome::kLine;
    message.back() = '\n';
    if (interactive_) show(". ");
  }
}

bool Dialogue::obey(const std::string& line) {
  if (line == "/exit") {
    ended_ = true;
  } else if (line == "/reset") {
    reset();
  } else if (line == "/help") {
    put(kHelp, interactive_ ? stdout : stderr);
  } else if (interactive_ && looks_like_a_command(line)) {
    show("There is no command " + line + "; /help lists those that there are.\n");
  } else {
    return false;
  }
  return true;
}

ExitCode Dialogue::report(ExitCode code, const Error& error) const {
  if (!interactive_) return fail(code, error);
  put("error: " + terminal_line(error.message) + "\n", stdout);
  return ExitCode::kDone;
}

ExitCode Dialogue::say(const std::string& message) {
  messages_.push_back({"user", message});
  const int before = interrupts.load();
  TerminalText shown;
  bool begun = false;
  const auto on_text = [&](std::string_view text) {
    show(shown.push(text));
    begun = true;
  };
  const auto answer =
      ask(server_, messages_, settings_, on_text, [&] { return interrupts.load() != before || !written_; });
  show(shown.finish());
  if (begun || interactive_) show("\n");
  // Whoever read has all that was wanted.
  ended_ = ended_ || reader_left_;
  if (reader_left_) return ExitCode::kDone;
  if (!written_) return fail(ExitCode::kFile, {ErrorCode::kIo, "the answer could not be written", {}});
  if (!answer) {
    messages_.pop_back();
    const bool nobody = answer.error().code == ErrorCode::kUnavailable;
    return report(nobody ? ExitCode::kAddress : ExitCode::kFault, answer.error());
  }
  if (answer->text.empty()) {
    messages_.pop_back();
  } else {
    messages_.push_back({"assistant", answer->text});
  }
  put(figures(*answer) + "\n", interactive_ ? stdout : stderr);
  return ExitCode::kDone;
}

ExitCode Dialogue::run() {
  using Outcome = LineReader::Outcome;
  if (interactive_) show(kHelp);
  ExitCode code = ExitCode::kDone;
  while (code == ExitCode::kDone && !ended_) {
    std::string message;
    const auto outcome = read_message(message);
    if (outcome == Outcome::kEnd) break;
    if (outcome == Outcome::kInterrupted) {
      if (interactive_) show("\n");
    } else if (outcome == Outcome::kFailed) {
      return fail(ExitCode::kFault, {ErrorCode::kIo, "standard input: " + std::generic_category().message(errno), {}});
    } else if (outcome == Outcome::kTooLong) {
      code = report(ExitCode::kFault, Error::invalid("", "a message has at most " +
                                                             std::to_string(LineReader::kMaxLineBytes) + " bytes"));
    } else if (!message.empty() && !obey(message)) {
      code = say(message);
    }
  }
  if (interactive_ && !ended_) show("\n");
  return code;
}

}  // namespace

ExitCode converse(const ServerAddress& server, const AnswerSettings& settings, const std::string& system) {
  const bool interactive = ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
  if (interactive) catch_interrupts();
  return Dialogue(server, settings, system, interactive).run();
}

}  // namespace takt::app
