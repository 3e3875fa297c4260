#include "config/presets.h"

#include <algorithm>
#include <utility>

namespace takt::config {
namespace {

using PresetValues = std::vector<std::pair<const char*, const char*>>;

struct Preset {
  const char* name;
  PresetValues settings;
};

// Batches of so many, or of those that came in time, each run to its end.
PresetValues static_batches() {
  return {{"scheduler.join", "when_empty"},        {"scheduler.window_min_batch", "8"},
          {"scheduler.window_max_wait_ms", "500"}, {"scheduler.window_adaptive", "false"},
          {"scheduler.max_sequences", "8"},        {"scheduler.prefill", "whole"},
          {"scheduler.leave", "with_batch"}};
}

PresetValues with(PresetValues settings, const PresetValues& more) {
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

// docs/scheduling.md says what each costs.
const std::vector<Preset>& presets() {
  static const std::vector<Preset> kPresets = {
      {"continuous-chunked", {}},
      {"static", with(static_batches(), {{"scheduler.padding", "true"}, {"scheduler.reserve", "context"}})},
      {"static-tight", static_batches()},
      {"request-level", {{"scheduler.join", "when_empty"}, {"scheduler.prefill", "whole"}}},
      {"orca", {{"scheduler.prefill", "whole"}}},
      {"no-evict", {{"scheduler.admission", "worst_case"}, {"scheduler.preemption", "none"}}},
      {"max-utilisation", {{"scheduler.admission", "greedy"}, {"scheduler.watermark", "0"}}},
      {"served-ratio",
       {{"scheduler.prefill", "whole"},
        {"scheduler.admission", "worst_case"},
        {"scheduler.preemption", "none"},
        {"scheduler.window_served_ratio", "0.3"},
        {"scheduler.window_max_wait_ms", "1000"},
        {"scheduler.window_adaptive", "false"}}},
      {"throughput",
       {{"scheduler.step_target_ms", "200"},
        {"scheduler.max_step_ms", "400"},
        {"scheduler.step_overhead", "0"},
        {"scheduler.decode_share", "0"},
        {"scheduler.max_sequences", "256"},
        {"scheduler.newcomer_share", "0.5"}}},
      {"lowest-latency",
       {{"scheduler.step_target_ms", "25"}, {"scheduler.max_step_ms", "50"}, {"scheduler.newcomer_share", "0.9"}}},
  };
  return kPresets;
}

}  // namespace

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const Preset& preset : presets()) names.emplace_back(preset.name);
  return names;
}

Status apply_preset(const std::string& name, OptionTable& options) {
  const auto preset = std::find_if(presets().begin(), presets().end(), [&](const Preset& p) { return p.name == name; });
  if (preset == presets().end()) return Error::invalid("scheduler.preset", "there is no preset '" + name + "'");
  for (const auto& [key, value] : preset->settings) {
    const Option* option = options.find(key);
    if (option != nullptr && option->origin != "default") continue;
    if (Status set = options.set_text(key, value, "preset " + name); !set) return set;
  }
  return {};
}

}  // namespace takt::config
