// One request before it is sent: when, how long, and whose text.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "measure/goodput.h"

namespace takt::load {

struct PlannedRequest {
  Duration at{0};  // after the run's start; open loads only
  std::uint32_t class_index = 0;
  std::uint32_t prompt_tokens = 1;
  std::uint32_t output_tokens = 1;

  // Where the prompt's text comes from. Block i of `block_tokens` tokens is a function of hashes[i]; what is behind the
  // last one is a function of `text_seed`.
  std::uint32_t block_tokens = 0;
  std::vector<std::uint64_t> hashes;
  std::uint64_t text_seed = 0;
  std::optional<std::string> text;  // the prompt itself, where a trace has it

  std::optional<Duration> cancel_after;  // from sending; the caller's own decision
  std::string application;
  std::string tenant;
  std::string user;
  std::string session;  // requests of one session wait for each other where the run says so
  Duration think{0};    // after the answer before in its session
};

// Requests in the order of their instants. Bounded memory, whatever their number.
class RequestSource {
 public:
  virtual ~RequestSource() = default;
  virtual Result<std::optional<PlannedRequest>> next() = 0;
};

// A class of the load: what its requests are and what they were promised.
struct LoadClass {
  std::string name;
  std::string service_class;  // as the server calls it; empty: not said
  measure::Targets targets;
};

// Draw number n of a random quantity; the same n gives the same value.
using DrawTokens = std::function<std::uint32_t(std::uint64_t n)>;
using DrawDuration = std::function<Duration(std::uint64_t n)>;

// People who ask, read the answer, think, and ask again.
struct ClosedLoad {
  std::uint32_t class_index = 0;
  std::uint32_t users = 1;
  std::uint32_t turns = 1;  // of one conversation, each with all that was said before
  DrawTokens prompt;
  DrawTokens output;
  DrawDuration think;
  std::string application;
  std::uint64_t seed = 1;
  std::uint32_t shared_prefix_tokens = 0;  // of a system message that all conversations begin with
  std::string tenant = {};
};

}  // namespace takt::load
