// `takt batch`: a file of requests, answered by a model in this process.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/random.h"
#include "batch_file.h"
#include "batch_run.h"
#include "commands.h"
#include "config/config_sources.h"
#include "config/settings.h"
#include "launch.h"
#include "setting_argument.h"
#include "stop_signals.h"

namespace takt::app {
namespace {

constexpr std::size_t kMostFaultsShown = 10;

struct BatchArguments {
  std::string input;
  std::string output;  // empty: standard output
  bool resume = false;
  std::vector<std::string> models;
  std::optional<std::string> config_file;
  std::optional<std::string> preset;
  std::vector<std::string> settings;  // KEY=VALUE
  std::uint32_t in_flight = 0;        // 0: twice the seats
};

// Answers go here, each line at once and whole.
class AnswerFile {
 public:
  AnswerFile() = default;
  explicit AnswerFile(int fd) : fd_(fd), owned_(true) {}
  AnswerFile(AnswerFile&& other) noexcept : fd_(other.fd_), owned_(std::exchange(other.owned_, false)) {}
  AnswerFile& operator=(AnswerFile&&) = delete;
  ~AnswerFile() {
    if (owned_) ::close(fd_);
  }

  Status put(std::string line) const {
    line += '\n';
    for (std::size_t at = 0; at < line.size();) {
      const ssize_t written = ::write(fd_, line.data() + at, line.size() - at);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return Error{ErrorCode::kIo, std::string("cannot write answers: ") + std::strerror(errno), {}};
      at += static_cast<std::size_t>(written);
    }
    return {};
  }

 private:
  int fd_ = STDOUT_FILENO;
  bool owned_ = false;
};

Error file_error(const std::string& path, const std::string& what) {
  return {ErrorCode::kIo, path + ": " + what, {}};
}

// Whether a path is a file whose bytes stay where they are: not a folder, a pipe or a device. Follows links.
Status check_regular(const std::string& path) {
  std::error_code failure;
  const auto type = std::filesystem::status(path, failure).type();
  if (type == std::filesystem::file_type::not_found) return file_error(path, "there is no such file");
  if (type == std::filesystem::file_type::directory) return file_error(path, "is a directory");
  if (type != std::filesystem::file_type::regular) return file_error(path, "is not a regular file");
  return {};
}

struct AnswerOutput {
  AnswerFile file;
  BatchAnswered earlier;
};

// Ours alone, behind the answers that it holds already. Its last line may have been cut off.
Result<AnswerOutput> open_output(const BatchArguments& arguments) {
  if (arguments.output.empty()) return AnswerOutput{};
  const std::string& path = arguments.output;
  std::error_code failure;
  if (std::filesystem::exists(path, failure)) {
    if (!arguments.resume)
      return Error::invalid("--output", path + " is there already: add --resume to go on with it, or remove it");
    if (auto status = check_regular(path); !status) return status.error();
    if (std::filesystem::equivalent(path, arguments.input, failure)) return file_error(path, "is the file of requests");
  }
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_APPEND, 0644);
  if (fd < 0) return file_error(path, std::strerror(errno));
  AnswerOutput output{AnswerFile(fd), {}};
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) return file_error(path, "another takt batch writes to it");
  std::ifstream before(path, std::ios::binary);
  auto answered = read_answered(before);
  if (!answered) return file_error(path, answered.error().message);
  output.earlier = std::move(*answered);
  if (::ftruncate(fd, static_cast<off_t>(output.earlier.whole_bytes)) != 0)
    return file_error(path, std::strerror(errno));
  return output;
}

// Nobody else is served: the file's requests come from inside.
config::Settings for_this_process() {
  using Kind = config::Setting::Kind;
  const std::vector<std::string> none;
  return {{"http.host", Kind::kText, std::string("127.0.0.1"), "batch"},
          {"http.port", Kind::kText, std::string("0"), "batch"},
          {"auth.api_keys", Kind::kValue, none, "batch"},
          {"auth.admin_keys", Kind::kValue, none, "batch"},
          {"auth.api_key_file", Kind::kText, std::string(), "batch"},
          {"auth.no_auth", Kind::kText, std::string("false"), "batch"},
          {"route", Kind::kNewList, {}, "batch"}};
}

Result<std::unique_ptr<config::LoadedConfig>> load_config(const BatchArguments& arguments) {
  using Kind = config::Setting::Kind;
  config::ConfigSources sources;
  if (arguments.config_file) {
    auto file = config::read_toml_file(*arguments.config_file);
    if (!file) return file.error();
    sources.file = std::move(*file);
  }
  for (const std::string& text : arguments.settings) {
    auto setting = read_setting(text);
    if (!setting) return setting.error();
    sources.flags.push_back(std::move(*setting));
  }
  if (arguments.preset) sources.flags.push_back({"scheduler.preset", Kind::kText, *arguments.preset, "flag"});
  if (!arguments.models.empty()) sources.flags.push_back({"server.models", Kind::kValue, arguments.models, "flag"});
  sources.posted = for_this_process();
  return config::load(sources);
}

void say_result(const BatchCounts& counts, double seconds, const std::string& preset) {
  std::fprintf(stderr,
               "%llu answered, %llu of them with an error; %llu prompt and %llu output tokens in %.2f s with %s: %.1f "
               "output tokens/s\n",
               static_cast<unsigned long long>(counts.answered), static_cast<unsigned long long>(counts.failed),
               static_cast<unsigned long long>(counts.prompt_tokens),
               static_cast<unsigned long long>(counts.output_tokens), seconds, preset.c_str(),
               seconds > 0 ? static_cast<double>(counts.output_tokens) / seconds : 0.0);
}

// The first signal stops the sending, the second the process.
bool asked_to_stop(InferenceServer& server) {
  static constexpr const char* kSaid =
      "stopping: what is under way is still answered; a second signal ends it at once\n";
  const int signals = stop_signals_received();
  if (signals >= 2) {
    server.cut();
    std::_Exit(static_cast<int>(ExitCode::kFault));
  }
  static bool said = false;
  if (signals == 1 && !std::exchange(said, true)) std::fputs(kSaid, stderr);
  return signals != 0;
}

ExitCode answer_all(const BatchArguments& arguments, config::ServerConfig& config, std::istream& input,
                    const AnswerOutput& output) {
  const std::string key = "batch-" + std::to_string(fresh_seed()) + std::to_string(fresh_seed());
  config.route.keys = {{.key = key}};
  auto launched = launch(config, nullptr, stderr);
  if (const auto* failure = std::get_if<LaunchFailure>(&launched)) return fail(failure->code, failure->error);
  InferenceServer& server = *std::get<0>(launched);
  // Until here a signal ends the process as it ends any other: nothing has been answered.
  catch_stop_signals();
  loading_is_done();

  const std::uint32_t seats = config.engine.sched.max_sequences;
  const std::size_t in_flight = arguments.in_flight != 0 ? arguments.in_flight : std::size_t{2} * seats;
  BatchRun run(server.handler(), {{"authorization", "Bearer " + key}, {"x-takt-class", "background"}}, in_flight);
  BatchReader reader(input);
  const auto next = [&]() -> Result<std::optional<BatchRequest>> {
    for (;;) {
      auto request = reader.next();
      if (!request || !*request || !output.earlier.custom_ids.contains((*request)->custom_id)) return request;
    }
  };
  const TimePoint start = server.clock().now();
  const Status status = run.run(
      next, [&](const std::string& line) { return output.file.put(line); }, [&] { return asked_to_stop(server); });
  const double seconds = to_seconds(server.clock().now() - start);
  server.stop();
  say_result(run.counts(), seconds, config.preset);
  if (!status) return fail(status.error().code == ErrorCode::kIo ? ExitCode::kFile : ExitCode::kFault, status.error());
  if (run.complete()) return ExitCode::kDone;
  std::fprintf(stderr, "stopped by a signal before the end; --resume goes on from here\n");
  return ExitCode::kFault;
}

ExitCode run_batch(const BatchArguments& arguments) {
  set_up_logging("warning");
  const auto config = load_config(arguments);
  if (!config) return fail(ExitCode::kUsage, config.error());
  if (const auto status = check_regular(arguments.input); !status) return fail(ExitCode::kFile, status.error());
  std::ifstream input(arguments.input, std::ios::binary);
  if (!input) return fail(ExitCode::kFile, file_error(arguments.input, std::strerror(errno)));
  const BatchCheck check = check_batch(input, kMostFaultsShown);
  if (!check.faults.empty()) {
    for (const std::string& fault : check.faults)
      std::fprintf(stderr, "%s: %s\n", arguments.input.c_str(), fault.c_str());
    return fail(ExitCode::kUsage, Error::invalid("", "nothing was run, since the file has faults"));
  }
  input.clear();
  input.seekg(0);
  const auto output = open_output(arguments);
  if (!output) return fail(output.error().code == ErrorCode::kIo ? ExitCode::kFile : ExitCode::kUsage, output.error());
  return answer_all(arguments, (*config)->config, input, *output);
}

}  // namespace

void add_batch_command(CLI::App& app, ChosenCommand& chosen) {
  auto* command =
      app.add_subcommand("batch", "Answer a file of requests (OpenAI batch lines) with a model in this process");
  auto arguments = std::make_shared<BatchArguments>();
  command->add_option("FILE", arguments->input, "A request a line: {\"custom_id\", \"method\", \"url\", \"body\"}")
      ->required();
  command->add_option("--output,-o", arguments->output, "Where answers go, a line each as they end; standard output");
  command->add_flag("--resume", arguments->resume, "Go on with the answers that the output holds already");
  command->add_option("--model", arguments->models, "GGUF file, name or fake:SCRIPT; may be given again")
      ->allow_extra_args(false);
  command->add_option("--preset", arguments->preset, "Mode of batching (docs/scheduling.md)");
  command
      ->add_option("--in-flight", arguments->in_flight, "Requests that run or wait at once; default: twice the seats")
      ->check(CLI::Range(1, 1 << 20));
  command->add_option("--config", arguments->config_file, "TOML file (docs/configuration.md)");
  command->add_option("--set", arguments->settings, "Any option as KEY=VALUE; may be given again")
      ->allow_extra_args(false);
  command->callback([&chosen, arguments] { chosen = [arguments] { return run_batch(*arguments); }; });
}

}  // namespace takt::app
