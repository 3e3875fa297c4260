#include "load/load_settings.h"

#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <memory>
#include <utility>

#include "load/arrival_words.h"
#include "load/synthetic_source.h"
#include "trace/draws.h"
#include "trace/lengths.h"

namespace takt::load {
namespace {

constexpr double kMostRate = 1e6;
constexpr double kMostSeconds = 1e6;
constexpr std::uint32_t kMostUsers = 100'000;
constexpr std::uint32_t kMostTurns = 1000;
constexpr std::uint32_t kMostTokens = 10'000'000;
constexpr std::size_t kMostNameBytes = 128;
constexpr std::size_t kMostPathBytes = 4096;

Result<double> read_number(std::string_view name, std::string_view text, double lowest, double highest) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= lowest && value <= highest)) {
    return Error::invalid(std::string(name), std::string(name) + " must be a number from " + std::to_string(lowest) +
                                                 " to " + std::to_string(highest) + ", not " +
                                                 std::string(text.substr(0, 40)));
  }
  return value;
}

using Setter = Status (*)(ClassSettings&, std::string_view name, std::string_view value);

template <std::string ClassSettings::*Member, std::size_t Most = kMostNameBytes>
Status set_text(ClassSettings& settings, std::string_view name, std::string_view value) {
  if (value.size() > Most)
    return Error::invalid(std::string(name),
                          std::string(name) + " may have " + std::to_string(Most) + " bytes at most");
  settings.*Member = value;
  return {};
}

template <std::uint32_t ClassSettings::*Member, std::uint32_t Most>
Status set_count(ClassSettings& settings, std::string_view name, std::string_view value) {
  const auto number = read_number(name, value, 0.0, Most);
  if (!number) return number.error();
  if (*number != std::floor(*number))
    return Error::invalid(std::string(name), std::string(name) + " must be a whole number");
  settings.*Member = static_cast<std::uint32_t>(*number);
  return {};
}

template <double ClassSettings::*Member>
Status set_number(ClassSettings& settings, std::string_view name, std::string_view value) {
  const auto number = read_number(name, value, 0.0, Member == &ClassSettings::cancel_share ? 1.0 : kMostRate);
  if (!number) return number.error();
  settings.*Member = *number;
  return {};
}

template <std::optional<double> ClassSettings::*Member>
Status set_target(ClassSettings& settings, std::string_view name, std::string_view value) {
  const auto number = read_number(name, value, 0.0, kMostSeconds);
  if (!number) return number.error();
  settings.*Member = *number;
  return {};
}

const std::map<std::string_view, Setter>& setters() {
  static const std::map<std::string_view, Setter> kSetters{
      {"name", set_text<&ClassSettings::name>},
      {"service_class", set_text<&ClassSettings::service_class>},
      {"application", set_text<&ClassSettings::application>},
      {"tenant", set_text<&ClassSettings::tenant>},
      {"rate", set_number<&ClassSettings::rate>},
      {"arrivals", set_text<&ClassSettings::arrivals>},
      {"users", set_count<&ClassSettings::users, kMostUsers>},
      {"think", set_text<&ClassSettings::think>},
      {"turns", set_count<&ClassSettings::turns, kMostTurns>},
      {"prompt", set_text<&ClassSettings::prompt>},
      {"output", set_text<&ClassSettings::output>},
      {"lengths", set_text<&ClassSettings::lengths, kMostPathBytes>},
      {"shared_prefix", set_count<&ClassSettings::shared_prefix, kMostTokens>},
      {"cancel_share", set_number<&ClassSettings::cancel_share>},
      {"cancel_after", set_number<&ClassSettings::cancel_after>},
      {"ttft", set_target<&ClassSettings::ttft>},
      {"itl", set_target<&ClassSettings::itl>},
      {"tpot", set_target<&ClassSettings::tpot>},
      {"end_to_end", set_target<&ClassSettings::end_to_end>},
  };
  return kSetters;
}

Result<trace::LengthDistribution> read_lengths(std::string_view field, const std::string& text) {
  auto lengths = trace::LengthDistribution::parse(text);
  if (!lengths) return Error::invalid(std::string(field), std::string(field) + ": " + lengths.error().message);
  return lengths;
}

DrawTokens token_draw(const trace::LengthDistribution& lengths, std::uint64_t seed) {
  return [lengths, seed](std::uint64_t n) { return lengths.draw(seed, n); };
}

std::uint32_t sure_length(const trace::LengthDistribution& lengths) {
  return lengths.has_longest() ? lengths.most() : lengths.least();
}

// "2", or "exp:2" for an exponential of that mean.
Result<DrawDuration> think_draw(const std::string& text, std::uint64_t seed) {
  std::string_view value = text;
  const bool random = value.starts_with("exp:");
  if (random) value.remove_prefix(4);
  const auto mean = read_number("think", value, 0.0, kMostSeconds);
  if (!mean) return mean.error();
  return DrawDuration([mean = *mean, random, seed](std::uint64_t n) {
    return from_seconds(random ? mean * trace::draw_exponential(seed, n) : mean);
  });
}

std::optional<Duration> target(const std::optional<double>& seconds) {
  return seconds ? std::optional(from_seconds(*seconds)) : std::nullopt;
}

LoadClass load_class(const ClassSettings& settings) {
  return {settings.name,
          settings.service_class,
          {target(settings.ttft), target(settings.itl), target(settings.tpot), target(settings.end_to_end)}};
}

// What is drawn for one class.
struct ClassDraws {
  DrawTokens prompt;
  DrawTokens output;
  LongestRequest longest;
  std::optional<std::uint32_t> longest_prompt;  // empty: prompts have no end
};

Result<ClassDraws> trace_draws(const std::string& file, std::uint64_t seed) {
  auto reader = trace::open_trace(file);
  if (!reader) return reader.error();
  auto pairs = trace::lengths_of(**reader, seed);
  if (!pairs) return pairs.error();
  const std::shared_ptr<const trace::LengthSource> shared = std::move(*pairs);
  const trace::Lengths longest = shared->longest();
  return ClassDraws{[shared](std::uint64_t n) { return shared->draw(n).prompt_tokens; },
                    [shared](std::uint64_t n) { return shared->draw(n).output_tokens; },
                    {longest.prompt_tokens, longest.output_tokens},
                    longest.prompt_tokens};
}

Result<ClassDraws> class_draws(const ClassSettings& settings, std::uint64_t seed) {
  if (!settings.lengths.empty()) {
    const ClassSettings untouched;
    if (settings.prompt != untouched.prompt || settings.output != untouched.output)
      return Error::invalid("lengths", "class " + settings.name +
                                           " has lengths and prompt or output: the lengths are a trace's or drawn");
    return trace_draws(settings.lengths, seed + 1);
  }
  const auto prompt = read_lengths("prompt", settings.prompt);
  if (!prompt) return prompt.error();
  const auto output = read_lengths("output", settings.output);
  if (!output) return output.error();
  return ClassDraws{token_draw(*prompt, seed + 1),
                    token_draw(*output, seed + 2),
                    {sure_length(*prompt), sure_length(*output)},
                    prompt->has_longest() ? std::optional(prompt->most()) : std::nullopt};
}

// What would be said in vain, or cannot be, of a class.
Status check_class(const ClassSettings& settings) {
  const ClassSettings untouched;
  const std::string of = "class " + settings.name;
  if ((settings.rate > 0.0) == (settings.users > 0) && settings.arrivals != "burst")
    return Error::invalid("rate", of + " needs either a rate (open load) or users (closed load)");
  if (settings.users == 0 && (settings.turns > 1 || settings.think != untouched.think))
    return Error::invalid("users", of + " has turns or a think time, and no users: only a closed load has those");
  if (settings.users > 0 && (settings.cancel_share > 0.0 || settings.arrivals != untouched.arrivals))
    return Error::invalid("users", of + " has users, and arrivals or cancellations: only an open load has those");
  return {};
}

Status add_class(Load& load, std::vector<std::unique_ptr<RequestSource>>& sources, const ClassSettings& settings,
                 const LoadPlan& plan) {
  const auto index = static_cast<std::uint32_t>(load.classes.size());
  const std::uint64_t seed = plan.seed * 1'000'003U + index * 101U;
  if (const Status sound = check_class(settings); !sound) return sound;
  auto draws = class_draws(settings, seed);
  if (!draws) return draws.error();
  load.classes.push_back(load_class(settings));
  load.longest.push_back(draws->longest);
  if (settings.users > 0) {
    load.longest.back().prompt += settings.shared_prefix;
    auto think = think_draw(settings.think, seed + 3);
    if (!think) return think.error();
    load.closed.push_back({index, settings.users, std::max(settings.turns, 1U), std::move(draws->prompt),
                           std::move(draws->output), std::move(*think), settings.application, seed,
                           settings.shared_prefix, settings.tenant});
    return {};
  }
  if (draws->longest_prompt && settings.shared_prefix > *draws->longest_prompt)
    return Error::invalid(
        "shared_prefix", "class " + settings.name + ": the shared prefix of " + std::to_string(settings.shared_prefix) +
                             " tokens is longer than its longest prompt, of " + std::to_string(*draws->longest_prompt));
  auto arrivals = make_arrivals({.words = settings.arrivals,
                                 .rate = settings.rate * plan.rate_factor,
                                 .rate_factor = plan.rate_factor,
                                 .span = plan.span,
                                 .most = plan.most,
                                 .seed = seed + 4});
  if (!arrivals) return arrivals.error();
  sources.push_back(make_open_source({index, std::move(*arrivals), std::move(draws->prompt), std::move(draws->output),
                                      settings.application, settings.tenant, seed, settings.shared_prefix,
                                      settings.cancel_share, from_seconds(settings.cancel_after)}));
  return {};
}

}  // namespace

Status set(ClassSettings& settings, std::string_view name, std::string_view value) {
  const auto found = setters().find(name);
  if (found != setters().end()) return found->second(settings, name, value);
  std::string known;
  for (const auto& [one, setter] : setters()) known += (known.empty() ? "" : ", ") + std::string(one);
  return Error::invalid(
      std::string(name.substr(0, kMostNameBytes)),
      "a class has no setting '" + std::string(name.substr(0, kMostNameBytes)) + "': there are " + known);
}

Result<ClassSettings> parse_class(std::string_view text) {
  ClassSettings settings;
  while (!text.empty()) {
    const auto word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (word.empty()) continue;
    const auto equals = word.find('=');
    if (equals == std::string_view::npos)
      return Error::invalid("class", "'" + std::string(word.substr(0, 40)) + "' is no NAME=VALUE");
    if (const auto status = set(settings, word.substr(0, equals), word.substr(equals + 1)); !status)
      return status.error();
  }
  return settings;
}

void add_usual_targets(ClassSettings& settings) {
  struct Usual {
    std::string_view name;
    double ttft;
    double itl;
  };
  static constexpr std::array<Usual, 4> kUsual{
      {{"voice", 0.3, 0.06}, {"code", 0.3, 0.06}, {"chat", 1.0, 0.1}, {"agent", 3.0, 0.15}}};
  for (const auto& usual : kUsual) {
    if (settings.name != usual.name || settings.ttft || settings.itl || settings.tpot || settings.end_to_end) continue;
    settings.ttft = usual.ttft;
    settings.itl = usual.itl;
  }
}

Result<Load> make_load(const std::vector<ClassSettings>& classes, const LoadPlan& plan) {
  Load load;
  std::vector<std::unique_ptr<RequestSource>> sources;
  for (const auto& settings : classes) {
    if (const auto status = add_class(load, sources, settings, plan); !status) return status.error();
  }
  if (!sources.empty()) load.source = merge_sources(std::move(sources));
  return load;
}

Status check_context(const Load& load, std::uint32_t most_tokens) {
  for (std::size_t i = 0; i < load.longest.size(); ++i) {
    const LongestRequest& longest = load.longest[i];
    if (longest.prompt + longest.output <= most_tokens) continue;
    return Error::invalid("prompt",
                          "class " + load.classes[i].name + " asks for prompts of " + std::to_string(longest.prompt) +
                              " and answers of " + std::to_string(longest.output) + " tokens, the server takes " +
                              std::to_string(most_tokens) + " together (--keep-long sends them all the same)");
  }
  return {};
}

std::string describe_arrivals(const ClassSettings& settings, double rate_factor) {
  std::array<char, 64> number{};
  if (settings.users > 0) {
    return "closed: " + std::to_string(settings.users) + " users, think time " + settings.think + " s, " +
           std::to_string(settings.turns) + " turns";
  }
  if (settings.arrivals == "burst") return "open: all at once";
  std::snprintf(number.data(), number.size(), "%.4g", settings.rate * rate_factor);
  return "open: " + settings.arrivals + ", " + number.data() + " requests/s";
}

}  // namespace takt::load
