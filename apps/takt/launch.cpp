#include "launch.h"

#include <string>
#include <utility>

#include "model_source.h"
#include "servable_model.h"
#include "start_report.h"

namespace takt::app {
namespace {

Result<std::vector<ServableModel>> load_models(const std::vector<ModelSource>& sources,
                                               const config::ServerConfig& config, InferenceServer& server,
                                               const StartReport& say) {
  const int threads = say.threads(config);
  std::size_t promised_memory = 0;
  std::vector<ServableModel> models;
  for (const ModelSource& source : sources) {
    LoadReport report(source.name, say);
    server.set_progress(report.text());
    const ModelSetting setting{config, threads, server.clock(), promised_memory};
    auto model = load_servable_model(source, setting, [&](std::uint64_t done, std::uint64_t total) {
      if (report.advance(done, total)) server.set_progress(report.text());
    });
    if (!model) return Error{model.error().code, source.name + ": " + model.error().message, model.error().field};
    promised_memory += kv_pool_bytes(*model);
    models.push_back(std::move(*model));
  }
  return models;
}

}  // namespace

std::variant<std::unique_ptr<InferenceServer>, LaunchFailure> launch(const config::ServerConfig& config,
                                                                     serve::ConfigSource* source, std::FILE* say_to) {
  const StartReport say(say_to);
  const auto sources = find_models(config.process.models);
  if (!sources) return LaunchFailure{ExitCode::kModel, sources.error()};
  std::vector<std::string> names;
  for (const ModelSource& found : *sources) names.push_back(found.name);
  auto listening = InferenceServer::listen(config, std::move(names), source);
  if (!listening) {
    const Error& error = listening.error();
    if (error.code == ErrorCode::kInvalidArgument && error.field != "capture")
      return LaunchFailure{ExitCode::kUsage, error};
    return LaunchFailure{error.field == "step_log" || error.field == "capture" ? ExitCode::kFile : ExitCode::kAddress,
                         error};
  }
  std::unique_ptr<InferenceServer> server = std::move(*listening);
  auto models = load_models(*sources, config, *server, say);
  if (!models) return LaunchFailure{ExitCode::kModel, models.error()};
  say.models(*models);
  server->set_progress("measuring how long steps take here");
  if (const auto status = server->serve(std::move(*models)); !status) {
    const bool contradiction = status.error().code == ErrorCode::kInvalidArgument;
    return LaunchFailure{contradiction ? ExitCode::kUsage : ExitCode::kModel, status.error()};
  }
  return server;
}

}  // namespace takt::app
