// What a load generator has to know of a server before it measures it, asked of the server itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "load/prompt_text.h"
#include "load/request_body.h"
#include "load/transport.h"

namespace takt::load {

struct ServerFacts {
  RequestForm form;                          // that the server takes
  std::optional<std::uint32_t> most_tokens;  // of one request, prompt and answer
  bool is_takt = false;
  Palette palette;
  std::uint32_t overhead = 0;                                 // tokens that it adds to a prompt
  bool overhead_known = false;                                // its usage tells
  bool length_forced = false;                                 // a probe had exactly the length that was asked for
  std::vector<std::pair<std::string, std::string>> settings;  // of a Takt server that shows them: option, value
};

struct ProbeOptions {
  std::string model;  // empty: the server's first one
  Endpoint endpoint = Endpoint::kChat;
  bool stream = true;
  std::optional<double> temperature;
  CountTokens local_tokenizer;  // empty: the server's
  std::string local_tokenizer_name;
  std::vector<std::pair<std::string, std::string>> headers;
  Duration patience{std::chrono::seconds(120)};  // for one answer
};

// Asks for the models and the tokenizer, and sends one or two short requests. Errors: kUnavailable, field "url": nobody
// answers, what answers is no server of the OpenAI API, or it cannot now (429, 5xx). kInvalidArgument: it refuses what
// was said, in its own words; field "api_key" (401, 403), "model" (404) or none.
Result<ServerFacts> learn_about_server(Transport& transport, const ProbeOptions& options);

// The settings of a Takt server as they are now; empty where it does not show them.
std::vector<std::pair<std::string, std::string>> read_settings(Transport& transport, Duration patience);

}  // namespace takt::load
