#include "load/home_profile.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "load/synthetic_source.h"
#include "trace/arrivals.h"
#include "trace/lengths.h"

namespace takt::load {
namespace {

constexpr std::size_t kHours = 24;
constexpr double kSecondsOfDay = 86'400.0;

// Relative weight of each hour.
using DayCurve = std::array<double, kHours>;
constexpr DayCurve kAwake{0, 0, 0, 0, 0, 1, 3, 5, 3, 2, 2, 3, 4, 3, 2, 3, 4, 6, 7, 7, 6, 5, 3, 1};
constexpr DayCurve kWork{0, 0, 0, 0, 0, 0, 0, 1, 4, 6, 6, 5, 2, 5, 6, 6, 5, 2, 1, 1, 2, 2, 1, 0};
constexpr DayCurve kAlways{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
constexpr DayCurve kNight{0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};

struct Habit {
  const char* name;  // class of the load and, in Takt, of the service
  const char* application;
  double per_person;  // requests a day
  double per_home;
  const DayCurve* curve;
  double burstiness;                   // trace/arrivals.h
  double prompt_median, prompt_sigma;  // log-normal, behind the shared prefix
  double output_median, output_sigma;
  double shared_prefix;  // tokens
};

constexpr std::array<Habit, 6> kHabits{{
    {"voice", "voice-assistant", 40, 0, &kAwake, 0.5, 30, 0.6, 20, 0.6, 900},
    {"chat", "chat", 25, 0, &kAwake, 0.4, 300, 0.9, 180, 0.7, 60},
    {"code", "editor", 90, 0, &kWork, 0.2, 600, 0.5, 24, 0.6, 0},
    {"agent", "coding-agent", 8, 0, &kWork, 0.2, 1200, 0.6, 150, 0.6, 700},
    {"background", "sensors", 0, 288, &kAlways, trace::kEvenGaps, 70, 0.3, 10, 0.3, 400},
    {"background", "night-summaries", 0, 120, &kNight, 0.3, 1000, 0.4, 120, 0.4, 40},
}};

std::uint32_t scaled_tokens(double tokens, double factor) {
  return static_cast<std::uint32_t>(std::max(1.0, std::round(tokens * factor)));
}

Result<std::unique_ptr<trace::RateProfile>> day_of(const Habit& habit, const HomeOptions& options) {
  const double requests = habit.per_person * options.people + habit.per_home;
  double weights = 0.0;
  for (const double weight : *habit.curve) weights += weight;
  std::vector<trace::RateSegment> segments;
  const double speed = kSecondsOfDay / to_seconds(options.length);
  for (const double weight : *habit.curve) {
    const double rate = requests * weight / weights / (kSecondsOfDay / kHours) * speed;
    segments.push_back({options.length / static_cast<std::int64_t>(kHours), rate, rate, habit.burstiness});
  }
  return trace::rate_course(std::move(segments));
}

std::string lengths_text(double median, double sigma, double factor) {
  return "lognormal:" + std::to_string(scaled_tokens(median, factor)) + "," + std::to_string(sigma).substr(0, 4) +
         ",min=1";
}

ClassSettings settings_of(const Habit& habit, const HomeOptions& options) {
  ClassSettings settings;
  settings.name = habit.name;
  settings.service_class = habit.name;
  settings.application = habit.application;
  settings.rate = (habit.per_person * options.people + habit.per_home) / to_seconds(options.length);
  settings.arrivals = "a day's course";
  settings.prompt = lengths_text(habit.prompt_median, habit.prompt_sigma, options.length_factor);
  settings.output = lengths_text(habit.output_median, habit.output_sigma, options.length_factor);
  settings.shared_prefix = habit.shared_prefix > 0.0 ? scaled_tokens(habit.shared_prefix, options.length_factor) : 0;
  add_usual_targets(settings);
  return settings;
}

// A prompt is its shared prefix and what is its own.
DrawTokens draw_of(const std::string& text, std::uint32_t prefix, std::uint64_t seed) {
  const auto lengths = trace::LengthDistribution::parse(text);
  if (!lengths) return [prefix](std::uint64_t) { return prefix + 1; };
  return [lengths = *lengths, prefix, seed](std::uint64_t n) { return prefix + lengths.draw(seed, n); };
}

std::optional<Duration> in_seconds(const std::optional<double>& seconds) {
  return seconds ? std::optional(from_seconds(*seconds)) : std::nullopt;
}

}  // namespace

std::vector<ClassSettings> describe_home_load(const HomeOptions& options) {
  std::vector<ClassSettings> all;
  for (const auto& habit : kHabits) all.push_back(settings_of(habit, options));
  return all;
}

Result<Load> make_home_load(const HomeOptions& options) {
  if (options.people < 1 || options.people > 1000) return Error::invalid("people", "people must be from 1 to 1000");
  if (options.length < std::chrono::seconds(24)) return Error::invalid("duration", "a day takes at least 24 s");
  Load load;
  std::vector<std::unique_ptr<RequestSource>> sources;
  for (std::size_t i = 0; i < kHabits.size(); ++i) {
    const auto& habit = kHabits[i];
    const auto settings = settings_of(habit, options);
    auto profile = day_of(habit, options);
    if (!profile) return profile.error();
    const std::uint64_t seed = options.seed * 1'000'003U + i * 101U;
    std::shared_ptr<trace::ArrivalProcess> process = trace::arrivals(std::move(*profile), seed);
    auto known = std::find_if(load.classes.begin(), load.classes.end(),
                              [&](const auto& one) { return one.name == settings.name; });
    if (known == load.classes.end()) {
      load.classes.push_back(
          {settings.name, settings.service_class, {in_seconds(settings.ttft), in_seconds(settings.itl), {}, {}}});
      known = load.classes.end() - 1;
    }
    OpenLoad open;
    open.class_index = static_cast<std::uint32_t>(known - load.classes.begin());
    open.next_arrival = [process] { return process->next(); };
    open.prompt = draw_of(settings.prompt, settings.shared_prefix, seed + 1);
    open.output = draw_of(settings.output, 0, seed + 2);
    open.application = settings.application;
    open.seed = seed;
    open.shared_prefix_tokens = settings.shared_prefix;
    sources.push_back(make_open_source(std::move(open)));
  }
  load.source = merge_sources(std::move(sources));
  return load;
}

}  // namespace takt::load
