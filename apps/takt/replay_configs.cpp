#include "replay_configs.h"

#include <boost/json.hpp>

#include "bench_compare.h"
#include "config/settings.h"
#include "output_files.h"

namespace takt::app {
namespace {

namespace json = boost::json;

constexpr Duration kPostPatience = std::chrono::seconds(30);

Status post_settings(load::Transport& transport, const std::string& body) {
  const auto answer = load::exchange(
      transport, {.method = "POST", .target = "/admin/config", .body = body, .headers = {}}, kPostPatience);
  boost::system::error_code error;
  const auto root = json::parse(answer.body, error);
  if (answer.failure != measure::Failure::kNone)
    return Error{ErrorCode::kUnavailable, "POST /admin/config: " + answer.detail, {}};
  if (answer.status != 200 || error) {
    boost::system::error_code none;
    const auto* message = error ? nullptr : root.find_pointer("/error/message", none);
    return Error::invalid("--configs",
                          "the server takes no settings (" + std::to_string(answer.status) + "): " +
                              (message != nullptr && message->is_string() ? std::string(message->get_string().c_str())
                                                                          : answer.body.substr(0, 200)));
  }
  return {};
}

// A change and what takes it back: null for every key that it names.
struct Change {
  std::string apply;
  std::string take_back;
};

Result<Change> read_change(const std::string& file) {
  auto text = read_file(file);
  if (!text) return text.error();
  const auto settings = config::parse_toml(*text, file);
  if (!settings) return settings.error();
  json::object back;
  for (const auto& setting : *settings) back[setting.key.substr(0, setting.key.find('['))] = nullptr;
  if (back.empty()) return Error::invalid("--configs", file + ": there is no setting in it");
  return Change{std::move(*text), json::serialize(back)};
}

// Behind what is there, on one time line.
void append(report::RunReport& all, report::RunReport more) {
  if (all.run.samples.empty()) {
    all = std::move(more);
    return;
  }
  const Duration shift = all.run.end - more.run.begin;
  for (auto& sample : more.run.samples) {
    auto& times = sample.record.times;
    times.scheduled += shift;
    times.sent += shift;
    if (times.first_token) *times.first_token += shift;
    times.last_token += shift;
    if (times.end) *times.end += shift;
    all.run.samples.push_back(std::move(sample));
  }
  all.run.end = more.run.end + shift;
  all.partial = all.partial || more.partial;
  for (auto& fault : more.verdict.faults) all.verdict.faults.push_back(std::move(fault));
  all.verdict.saturation.saturated = all.verdict.saturation.saturated || more.verdict.saturation.saturated;
}

}  // namespace

Result<std::vector<report::NamedComparison>> compare_configs(BenchSession& session,
                                                             const std::vector<std::string>& files,
                                                             std::uint32_t rounds, const Replay& replay) {
  if (files.size() < 2) return Error::invalid("--configs", "--configs needs two files at least: FILE,FILE,...");
  std::vector<Change> changes;
  for (const auto& file : files) {
    auto change = read_change(file);
    if (!change) return change.error();
    changes.push_back(std::move(*change));
  }
  std::vector<report::RunReport> reports(files.size());
  for (std::uint32_t round = 0; round < rounds && !BenchSession::interrupted(); ++round) {
    for (std::size_t i = 0; i < files.size() && !BenchSession::interrupted(); ++i) {
      if (const auto status = post_settings(session.transport(), changes[i].apply); !status) return status.error();
      session.read_settings_again();
      auto report = replay(files[i] + " (" + std::to_string(round + 1) + "/" + std::to_string(rounds) + ")");
      const auto back = post_settings(session.transport(), changes[i].take_back);
      if (!report) return report.error();
      if (!back) return back.error();
      append(reports[i], std::move(*report));
    }
  }
  std::vector<report::NamedComparison> comparisons;
  for (std::size_t i = 1; i < files.size(); ++i) {
    if (reports[0].run.samples.empty() || reports[i].run.samples.empty()) continue;
    auto one = compare_reports(files[0], reports[0], files[i], reports[i], true);
    if (!one) return one.error();
    comparisons.push_back(std::move(*one));
  }
  if (comparisons.empty())
    return Error{ErrorCode::kCancelled, "stopped before there were two runs to compare", "--configs"};
  return comparisons;
}

}  // namespace takt::app
