// What a person says about a load: classes, each with its arrivals or its users, its lengths and its targets. From
// options of the command line and from files alike.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "load/planned_request.h"

namespace takt::load {

// As text, so that a report can say what was asked for.
struct ClassSettings {
  std::string name = "chat";
  std::string service_class;  // as the server calls it; empty: not said
  std::string application;
  std::string tenant;
  double rate = 0.0;                 // requests per second; above 0: an open load
  std::string arrivals = "poisson";  // see parse in load_settings.cpp and docs/bench.md
  std::uint32_t users = 0;           // above 0: a closed load
  std::string think = "0";           // seconds, or exp:MEAN
  std::uint32_t turns = 1;
  std::string prompt = "256";  // tokens: trace/lengths.h
  std::string output = "128";
  std::string lengths;              // a trace's file, whose pairs of lengths are drawn instead of the two above
  std::uint32_t shared_prefix = 0;  // tokens that all prompts begin with; of a closed load a message before them
  double cancel_share = 0.0;
  double cancel_after = 1.0;                          // seconds
  std::optional<double> ttft, itl, tpot, end_to_end;  // targets in seconds
};

// Sets one by its name, e.g. "rate" to "2.5". Errors: kInvalidArgument, field: the name.
Status set(ClassSettings& settings, std::string_view name, std::string_view value);
// "name=voice rate=0.5 prompt=uniform:100-300": words of NAME=VALUE. Errors: as set.
Result<ClassSettings> parse_class(std::string_view text);
// TOML: a table [[class]] for each class. Errors: kIo, kInvalidArgument with the file's line.
Result<std::vector<ClassSettings>> read_load_file(const std::string& path);

// Targets that were not given, by the class's name: those that Takt's own classes promise.
void add_usual_targets(ClassSettings& settings);

// How long requests of a class become, in tokens. Of a distribution that has no end: how long they are at least.
struct LongestRequest {
  std::uint64_t prompt = 0;
  std::uint64_t output = 0;
};

struct Load {
  std::vector<LoadClass> classes;
  std::vector<LongestRequest> longest;    // of each class; of conversations the first turn
  std::unique_ptr<RequestSource> source;  // null: closed loads only
  std::vector<ClosedLoad> closed;
};

// `rate_factor` multiplies the rates of open loads; their course and lengths stay. `span`: how long arrivals are
// wanted, which is the length of a ramp. `most`: requests of a burst. Errors: kInvalidArgument, field: the setting.
struct LoadPlan {
  double rate_factor = 1.0;
  Duration span{std::chrono::seconds(60)};
  std::uint64_t most = 100;
  std::uint64_t seed = 1;
};
Result<Load> make_load(const std::vector<ClassSettings>& classes, const LoadPlan& plan);

// Whether every request is one that a server takes, which takes so many tokens of prompt and answer together. Errors:
// kInvalidArgument, field "prompt": a class that asks for more.
Status check_context(const Load& load, std::uint32_t most_tokens);

// For a report: "poisson, 2 requests/s".
std::string describe_arrivals(const ClassSettings& settings, double rate_factor);

}  // namespace takt::load
