// `takt pull`.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "commands.h"
#include "readable_bytes.h"
#include "store/model_store.h"

namespace takt::app {
namespace {

struct PullArguments {
  std::string name;
  bool verify = false;
};

// One line per stage and, while unpacking, per quarter.
class PullReport {
 public:
  void operator()(const store::PullProgress& progress) {
    using Stage = store::PullProgress::Stage;
    int quarter = 0;
    if (progress.stage == Stage::kUnpacking && progress.total_bytes > 0) {
      quarter = static_cast<int>(progress.done_bytes * 4 / progress.total_bytes);
    }
    if (shown_ && progress.stage == stage_ && quarter == quarter_) return;
    shown_ = true;
    stage_ = progress.stage;
    quarter_ = quarter;
    std::fprintf(stderr, "%s\n", text(progress).c_str());
  }

 private:
  static std::string text(const store::PullProgress& progress) {
    using Stage = store::PullProgress::Stage;
    switch (progress.stage) {
      case Stage::kWaiting:
        return "waiting for another pull of this model";
      case Stage::kDownloading:
        return "downloading (" + readable_bytes(progress.total_bytes) + ")";
      case Stage::kUnpacking:
        break;
    }
    return "unpacking " + readable_bytes(progress.done_bytes) + " of " + readable_bytes(progress.total_bytes);
  }

  bool shown_ = false;
  store::PullProgress::Stage stage_ = store::PullProgress::Stage::kWaiting;
  int quarter_ = 0;
};

std::string known_names(const store::ModelStore& store) {
  std::string names;
  for (const auto& model : store.catalogue()) names += (names.empty() ? "" : ", ") + model.name;
  return names;
}

ExitCode run_pull(const PullArguments& arguments) {
  const auto store = store::ModelStore::open({});
  if (!store) return fail(ExitCode::kFile, store.error());
  if (store::find_model(store->catalogue(), arguments.name) == nullptr) {
    return fail(
        ExitCode::kModel,
        {ErrorCode::kNotFound, "no model is known as " + arguments.name + "; known: " + known_names(*store), {}});
  }
  const auto path = store->pull(arguments.name, {arguments.verify, PullReport()});
  if (!path) return fail(ExitCode::kFile, path.error());
  return print(path->string() + "\n");
}

}  // namespace

void add_pull_command(CLI::App& app, ChosenCommand& chosen) {
  auto* command = app.add_subcommand("pull", "Download a model and print where it is");
  auto arguments = std::make_shared<PullArguments>();
  command->add_option("name", arguments->name, "Its name")->required();
  command->add_flag("--verify", arguments->verify, "Read a file that is there again and replace it when it is wrong");
  command->callback([&chosen, arguments] { chosen = [arguments] { return run_pull(*arguments); }; });
}

}  // namespace takt::app
