// `takt top`.
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <memory>
#include <string>
#include <thread>

#include "commands.h"
#include "http_get.h"
#include "live_table.h"
#include "number_in.h"
#include "table_text.h"
#include "terminal_text.h"

namespace takt::app {
namespace {

constexpr unsigned kMostTopRows = 1000;
constexpr unsigned kLinesAround = 3;  // the table's two of its own, and the cursor's

struct TopArguments {
  std::string url = "http://127.0.0.1:8080";
  std::string api_key;
  double interval = 1.0;  // seconds
  unsigned rows = 0;      // 0: what the terminal has room for
  bool once = false;
};

struct Screen {
  bool is_terminal = false;
  unsigned lines = 0;
  unsigned columns = 0;
};

Screen screen() {
  winsize size{};
  if (::isatty(STDOUT_FILENO) != 1 || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return {};
  return {true, size.ws_row, size.ws_col};
}

unsigned rows_of(const TopArguments& arguments, const Screen& screen) {
  if (arguments.rows > 0) return arguments.rows;
  if (screen.lines == 0) return kMostTopRows;
  return std::clamp(screen.lines - std::min(screen.lines, kLinesAround), 1U, kMostTopRows);
}

// From the terminal's upper left corner, cut at its edges, and nothing left of what was there before.
std::string redrawn(const std::string& table, const Screen& screen) {
  std::string drawing = "\x1b[H";
  unsigned lines = 0;
  for (std::size_t from = 0; from < table.size() && (screen.lines == 0 || ++lines < screen.lines);) {
    const std::size_t end = std::min(table.find('\n', from), table.size());
    const std::string line = table.substr(from, end - from);
    drawing += (screen.columns > 0 ? first_characters(line, screen.columns - 1) : line) + "\x1b[K\n";
    from = end + 1;
  }
  return drawing + "\x1b[J";
}

Result<std::string> look(const ServerAddress& server, unsigned rows) {
  const auto body = http_get(server, "/admin/requests?alive=" + std::to_string(rows));
  return body ? live_table(*body) : body.error();
}

// Nothing here is worth finishing: the last look stays on the screen.
void end_at_once(int /*signal*/) {
  ::_exit(0);
}

ExitCode run_top(const TopArguments& arguments) {
  auto server = parse_url(arguments.url);
  if (!server) return fail(ExitCode::kUsage, server.error());
  server->api_key = arguments.api_key;
  const bool goes_on = !arguments.once && screen().is_terminal;
  if (goes_on) {
    std::signal(SIGINT, end_at_once);
    std::signal(SIGTERM, end_at_once);
  }
  auto table = look(*server, rows_of(arguments, screen()));
  if (!table) {
    const bool usage = table.error().code == ErrorCode::kInvalidArgument && !table.error().field.empty();
    return fail(usage ? ExitCode::kUsage : ExitCode::kFault, table.error());
  }
  if (!goes_on) return print(*table);
  while (!output_is_closed()) {
    // A server that was there may come back: that is worth waiting for.
    const std::string shown = table ? *table : terminal_line(table.error().message) + "\n";
    if (const ExitCode printed = print(redrawn(shown, screen())); printed != ExitCode::kDone) return printed;
    std::this_thread::sleep_for(from_seconds(arguments.interval));
    table = look(*server, rows_of(arguments, screen()));
  }
  return ExitCode::kDone;
}

}  // namespace

void add_top_command(CLI::App& app, ChosenCommand& chosen) {
  auto* command =
      app.add_subcommand("top", "Watch the requests that a server has: state, rates, waits; no text of them");
  auto arguments = std::make_shared<TopArguments>();
  command->add_option("--url", arguments->url, "Where the server is")->capture_default_str();
  command->add_option("--api-key", arguments->api_key, "An admin key, where the server has keys")
      ->envname("TAKT_API_KEY");
  command->add_option("--interval", arguments->interval, "Seconds between two looks")
      ->check(number_in(0.1, 3600.0))
      ->capture_default_str();
  command->add_option("--rows", arguments->rows, "Requests at most, the oldest first (what the terminal has room for)")
      ->check(CLI::Range(1U, kMostTopRows));
  command->add_flag("--once", arguments->once, "One look, as where standard output is no terminal");
  command->callback([&chosen, arguments] { chosen = [arguments] { return run_top(*arguments); }; });
}

}  // namespace takt::app
