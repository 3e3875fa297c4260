// `takt explain`.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "api/answer.h"
#include "commands.h"
#include "explain_route.h"
#include "explain_story.h"
#include "http_get.h"

namespace takt::app {
namespace {

struct ExplainArguments {
  std::string request;
  std::string url = "http://127.0.0.1:8080";
  std::string api_key;
  unsigned slowest = 0;
  bool json = false;
};

ExitCode run_explain(const ExplainArguments& arguments) {
  if (arguments.request.empty() == (arguments.slowest == 0))
    return fail(ExitCode::kUsage, Error::invalid("", "give a request's id, --slowest N or --route"));
  auto server = parse_url(arguments.url);
  if (!server) return fail(ExitCode::kUsage, server.error());
  server->api_key = arguments.api_key;
  std::string target = "/admin/requests?slowest=" + std::to_string(arguments.slowest);
  if (arguments.slowest == 0) {
    const auto id = api::parse_request_name(arguments.request);
    if (!id) return fail(ExitCode::kUsage, Error::invalid("id", "id must be as in x-request-id or in an answer's id"));
    target = "/admin/requests/" + api::request_name(*id);
  }
  const auto body = http_get(*server, target);
  if (!body) {
    const bool usage = body.error().code == ErrorCode::kInvalidArgument && !body.error().field.empty();
    return fail(usage ? ExitCode::kUsage : ExitCode::kFault, body.error());
  }
  if (arguments.json) return print(*body + "\n");
  const auto story = arguments.slowest == 0 ? request_story(*body) : requests_table(*body);
  if (!story) return fail(ExitCode::kFault, story.error());
  return print(*story);
}

}  // namespace

void add_explain_command(CLI::App& app, ChosenCommand& chosen) {
  auto* command = app.add_subcommand("explain", "Tell why a request took as long as it did, or where one would go");
  auto arguments = std::make_shared<ExplainArguments>();
  const auto route = add_route_options(*command);
  auto* id = command->add_option("id", arguments->request, "The request: x-request-id, or the answer's id");
  command->add_option("--slowest", arguments->slowest, "Those that took longest instead")
      ->check(CLI::Range(1, 1000))
      ->excludes(id);
  command->add_option("--url", arguments->url, "Where the server is")->capture_default_str();
  command->add_option("--api-key", arguments->api_key, "An admin key, where the server has keys")
      ->envname("TAKT_API_KEY");
  command->add_flag("--json", arguments->json, "What the server says, as it is");
  command->callback([&chosen, arguments, route] {
    chosen = [arguments, route] { return route->asked ? explain_route(*route) : run_explain(*arguments); };
  });
}

}  // namespace takt::app
