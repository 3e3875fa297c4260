#include "load/server_facts.h"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <cmath>
#include <cstdio>

#include "load/answer_events.h"
#include "load/http_status.h"

namespace takt::load {
namespace {

namespace json = boost::json;
using measure::Failure;

constexpr std::uint32_t kProbeTokens = 40;
constexpr std::uint32_t kLongProbeTokens = 240;
constexpr std::uint32_t kProbeAnswer = 6;
constexpr std::uint64_t kProbeSeed = 0x7A4B;

json::value parse_json(const std::string& text) {
  boost::system::error_code error;
  auto value = json::parse(text, error);
  return error ? json::value() : value;
}

std::optional<std::uint32_t> unsigned_at(const json::value& root, const char* pointer) {
  boost::system::error_code error;
  const auto* value = root.find_pointer(pointer, error);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  const auto number = value->to_number<std::uint32_t>(error);
  return error ? std::nullopt : std::optional(number);
}

constexpr std::size_t kMostShownBytes = 200;

bool asks_for_a_key(const PlainAnswer& answer) {
  return answer.status == http_status::kUnauthorized || answer.status == http_status::kForbidden;
}

// What an answer without a completion says about who gave it.
Error refusal_error(const PlainAnswer& answer) {
  const auto event = read_answer_event(answer.body, false);
  const bool in_its_words = event && event->error;
  const std::string message = "the server answers " + std::to_string(answer.status) + ": " +
                              (in_its_words ? *event->error : answer.body.substr(0, kMostShownBytes));
  if (asks_for_a_key(answer)) return Error::invalid("api_key", message);
  if (!in_its_words && answer.status < http_status::kFirstServerError)
    return {ErrorCode::kUnavailable, "this is no server of the OpenAI API: " + message, "url"};
  if (answer.status == http_status::kTooManyRequests || answer.status >= http_status::kFirstServerError)
    return {ErrorCode::kUnavailable, message, "url"};
  return Error::invalid(answer.status == http_status::kNotFound ? "model" : "", message);
}

std::string setting_value(const json::value& value) {
  if (value.is_string()) return value.get_string().c_str();
  if (!value.is_double()) return json::serialize(value);
  std::array<char, 32> digits{};
  std::snprintf(digits.data(), digits.size(), "%g", value.get_double());
  return digits.data();
}

class Probe {
 public:
  Probe(Transport& transport, const ProbeOptions& options) : transport_(transport), options_(options) {}

  Result<ServerFacts> run() {
    facts_.form = {.endpoint = options_.endpoint,
                   .model = options_.model,
                   .stream = options_.stream,
                   .temperature = options_.temperature};
    if (const auto status = ask_for_models(); !status) return status.error();
    if (const auto status = find_tokenizer(); !status) return status.error();
    if (const auto status = send_probe(); !status) return status.error();
    if (facts_.is_takt) facts_.settings = read_settings(transport_, options_.patience);
    return std::move(facts_);
  }

 private:
  PlainAnswer get(const char* target) {
    return exchange(transport_, {.method = "GET", .target = target, .body = {}, .headers = options_.headers},
                    options_.patience);
  }
  PlainAnswer post(const char* target, std::string body) {
    return exchange(transport_,
                    {.method = "POST", .target = target, .body = std::move(body), .headers = options_.headers},
                    options_.patience);
  }

  Status ask_for_models() {
    const auto answer = get("/v1/models");
    if (answer.status == 0 || answer.failure == Failure::kTimeout)
      return Error{ErrorCode::kUnavailable,
                   "no answer (" + std::string(to_string(answer.failure)) + ": " + answer.detail + ")", "url"};
    if (asks_for_a_key(answer)) return refusal_error(answer);
    const auto root = parse_json(answer.body);
    boost::system::error_code error;
    const auto* list = root.find_pointer("/data", error);
    if (answer.status != http_status::kOk || list == nullptr || !list->is_array())
      return {};  // not every server has the path
    for (const auto& entry : list->get_array()) {
      const auto* id = entry.find_pointer("/id", error);
      if (id == nullptr || !id->is_string()) continue;
      if (facts_.form.model.empty()) facts_.form.model = id->get_string().c_str();
      if (facts_.form.model != std::string_view(id->get_string().data(), id->get_string().size())) continue;
      facts_.most_tokens = unsigned_at(entry, "/max_model_len");
      if (!facts_.most_tokens) facts_.most_tokens = unsigned_at(entry, "/meta/n_ctx");
      return {};
    }
    return {};
  }

  Status find_tokenizer() {
    CountTokens count = options_.local_tokenizer;
    std::string source = options_.local_tokenizer_name;
    if (!count) {
      for (const auto* path : {"/v1/tokenize", "/tokenize"}) {
        if (!count_by(path, "and")) continue;
        count = [this, path](std::string_view text) { return count_by(path, text); };
        source = std::string("the server's own, at ") + path;
        break;
      }
    }
    if (!count) return {};
    auto palette = find_palette(count, source);
    if (!palette) return palette.error();
    facts_.palette = std::move(*palette);
    return {};
  }

  Result<std::uint32_t> count_by(const char* path, std::string_view text) {
    // Three dialects of one question.
    json::object body{
        {"text", text}, {"content", text}, {"prompt", text}, {"add_special", false}, {"add_special_tokens", false}};
    if (std::string_view(path) == "/v1/tokenize") body = {{"text", text}, {"add_special", false}};
    if (!facts_.form.model.empty()) body["model"] = facts_.form.model;
    const auto answer = post(path, json::serialize(body));
    const auto root = parse_json(answer.body);
    if (answer.status != http_status::kOk)
      return Error{ErrorCode::kUnavailable, "the server has no tokenizer to ask", "url"};
    if (unsigned_at(root, "/max_model_len") && unsigned_at(root, "/count") && std::string_view(path) == "/v1/tokenize")
      facts_.is_takt = true;
    if (const auto count = unsigned_at(root, "/count")) return *count;
    boost::system::error_code error;
    const auto* tokens = root.find_pointer("/tokens", error);
    if (tokens == nullptr || !tokens->is_array())
      return Error{ErrorCode::kUnavailable, "the server's tokenizer does not answer as expected", "url"};
    return static_cast<std::uint32_t>(tokens->get_array().size());
  }

  PlainAnswer ask(const RequestForm& form, const std::string& text) {
    return post(target_of(form.endpoint), request_body(form, {{"user", text}}, kProbeAnswer));
  }

  static Result<AnswerEvent> completion_of(const PlainAnswer& answer) {
    if (answer.failure != Failure::kNone)
      return Error{ErrorCode::kUnavailable, "a short request fails: " + answer.detail, "url"};
    if (answer.status != http_status::kOk) return refusal_error(answer);
    auto event = read_answer_event(answer.body, false);
    if (!event || !event->has_token)
      return Error{ErrorCode::kUnavailable, "this is no server of the OpenAI API: its answer is no completion", "url"};
    return event;
  }

  // From what most servers know to what every server knows.
  Result<AnswerEvent> find_form(const std::string& text) {
    Result<AnswerEvent> last = Error::internal("nothing was tried");
    struct Variant {
      bool force;
      bool new_name;
    };
    for (const auto variant : {Variant{true, false}, Variant{false, false}, Variant{false, true}}) {
      RequestForm form = facts_.form;
      form.stream = false;
      form.force_length = variant.force;
      form.new_limit_name = variant.new_name;
      const auto answer = ask(form, text);
      last = completion_of(answer);
      if (last) {
        facts_.form.force_length = variant.force;
        facts_.form.new_limit_name = variant.new_name;
      }
      // Other words change nothing of an answer that is none, nor of a key.
      if (answer.failure != Failure::kNone || answer.status == http_status::kOk || asks_for_a_key(answer)) return last;
    }
    return last;
  }

  Status send_probe() {
    const bool counted = !facts_.palette.pieces.empty();
    if (!counted) facts_.palette = estimated_palette(1.0, "not known");
    const PromptWriter writer(facts_.palette);
    const auto first = find_form(writer.write(kProbeSeed, kProbeTokens));
    if (!first) return first.error();
    facts_.length_forced = facts_.form.force_length && first->completion_tokens.value_or(0) == kProbeAnswer;
    if (!first->prompt_tokens) return {};
    facts_.overhead_known = true;
    double per_word = facts_.palette.tokens_per_piece;
    if (!counted) {
      RequestForm form = facts_.form;
      form.stream = false;
      const auto second = completion_of(ask(form, writer.write(kProbeSeed, kLongProbeTokens)));
      if (!second) return second.error();
      per_word = (static_cast<double>(second->prompt_tokens.value_or(0)) - *first->prompt_tokens) /
                 (kLongProbeTokens - kProbeTokens);
      facts_.palette = estimated_palette(per_word, "the usage of two requests");
    }
    const double own = counted ? kProbeTokens : kProbeTokens * facts_.palette.tokens_per_piece;
    facts_.overhead = static_cast<std::uint32_t>(std::max(0.0, std::round(*first->prompt_tokens - own)));
    return {};
  }

  Transport& transport_;
  const ProbeOptions& options_;
  ServerFacts facts_;
};

}  // namespace

std::vector<std::pair<std::string, std::string>> read_settings(Transport& transport, Duration patience) {
  std::vector<std::pair<std::string, std::string>> settings;
  const auto answer =
      exchange(transport, {.method = "GET", .target = "/admin/config", .body = {}, .headers = {}}, patience);
  if (answer.status != http_status::kOk) return settings;
  const auto root = parse_json(answer.body);
  const auto* options = root.is_object() ? root.get_object().if_contains("options") : nullptr;
  if (options == nullptr || !options->is_object()) return settings;
  for (const auto& [name, entry] : options->get_object()) {
    boost::system::error_code error;
    const auto* value = entry.find_pointer("/value", error);
    if (value != nullptr && !value->is_object()) settings.emplace_back(std::string(name), setting_value(*value));
  }
  return settings;
}

Result<ServerFacts> learn_about_server(Transport& transport, const ProbeOptions& options) {
  return Probe(transport, options).run();
}

}  // namespace takt::load
