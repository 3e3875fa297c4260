// `takt top`.
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>

#include "commands.h"
#include "http_get.h"
#include "live_table.h"
#include "stop_signals.h"

namespace takt::app {
namespace {

constexpr unsigned kMostRows = 1000;
constexpr unsigned kLinesAround = 3;  // the table's two of its own, and the cursor's

struct Arguments {
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

unsigned rows_of(const Arguments& arguments, const Screen& screen) {
  if (arguments.rows > 0) return arguments.rows;
  return screen.lines > kLinesAround ? std::min(kMostRows, screen.lines - kLinesAround) : kMostRows;
}

// From the terminal's upper left corner, each line cut at its edge, and nothing left of what was there before.
std::string redrawn(const std::string& table, unsigned columns) {
  std::string drawing = "\x1b[H";
  for (std::size_t from = 0; from < table.size();) {
    const std::size_t end = std::min(table.find('\n', from), table.size());
    drawing += table.substr(from, columns > 0 ? std::min<std::size_t>(end - from, columns) : end - from) + "\x1b[K\n";
    from = end + 1;
  }
  return drawing + "\x1b[J";
}

// Until the next look; false when there is to be none, since somebody stopped it or the terminal is gone.
bool another_look(const Arguments& arguments) {
  return !wait_for_signal(0, from_seconds(arguments.interval)) && !take_hangup() && !output_is_closed();
}

ExitCode run_top(const Arguments& arguments) {
  auto server = parse_url(arguments.url);
  if (!server) return fail(ExitCode::kUsage, server.error());
  server->api_key = arguments.api_key;
  const bool goes_on = !arguments.once && screen().is_terminal;
  if (goes_on) {
    catch_stop_signals();
    loading_is_done();
  }
  do {
    const Screen now = screen();
    const auto body = http_get(*server, "/admin/requests?alive=" + std::to_string(rows_of(arguments, now)));
    if (!body) {
      const bool usage = body.error().code == ErrorCode::kInvalidArgument && !body.error().field.empty();
      return fail(usage ? ExitCode::kUsage : ExitCode::kFault, body.error());
    }
    const auto table = live_table(*body);
    if (!table) return fail(ExitCode::kFault, table.error());
    if (const ExitCode printed = print(goes_on ? redrawn(*table, now.columns) : *table); printed != ExitCode::kDone)
      return printed;
  } while (goes_on && another_look(arguments));
  return ExitCode::kDone;
}

}  // namespace

void add_top_command(CLI::App& app, ChosenCommand& chosen) {
  auto* command =
      app.add_subcommand("top", "Watch the requests that a server has: state, rates, waits; no text of them");
  auto arguments = std::make_shared<Arguments>();
  command->add_option("--url", arguments->url, "Where the server is")->capture_default_str();
  command->add_option("--api-key", arguments->api_key, "An admin key, where the server has keys")
      ->envname("TAKT_API_KEY");
  command->add_option("--interval", arguments->interval, "Seconds between two looks")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  command->add_option("--rows", arguments->rows, "Requests at most, the oldest first (what the terminal has room for)")
      ->check(CLI::Range(1U, kMostRows));
  command->add_flag("--once", arguments->once, "One look, as where standard output is no terminal");
  command->callback([&chosen, arguments] { chosen = [arguments] { return run_top(*arguments); }; });
}

}  // namespace takt::app
