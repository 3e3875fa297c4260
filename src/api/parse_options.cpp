#include "api/parse_options.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "api/unsupported_fields.h"
#include "core/sampling_limits.h"

namespace takt::api {

namespace json = boost::json;

namespace {

constexpr std::int64_t kMaxInt32 = std::numeric_limits<std::int32_t>::max();
constexpr std::size_t kShownKeyBytes = 64;  // of a key, which is the caller's text

float as_float(std::optional<double> value, float otherwise) {
  return value ? static_cast<float>(*value) : otherwise;
}

// One value under two names; the second is another server's. Both at once must agree on which is meant, so that is a
// fault.
template <typename T, typename Read>
std::optional<T> either(FieldReader& fields, std::string_view name, std::string_view alias, Read read) {
  const std::optional<T> first = read(name);
  const std::optional<T> second = read(alias);
  if (first && second && *first != *second)
    fields.fail(alias, "and '" + std::string(name) + "' are the same setting and differ: send one");
  return first ? first : second;
}

void read_stops(FieldReader& fields, const ApiOptions& limits, GenerationOptions& options) {
  const json::value* stop = fields.any("stop");
  if (stop == nullptr) return;
  const auto add = [&](const json::value& value, const std::string& name) {
    const json::string* text = value.if_string();
    if (text == nullptr) {
      fields.fail(name, "must be a string, not " + std::string(kind_name(value)));
    } else if (text->size() > limits.max_stop_bytes) {
      fields.fail(name, "has " + std::to_string(text->size()) + " bytes; the limit is " +
                            std::to_string(limits.max_stop_bytes));
    } else if (!text->empty()) {
      options.stops.emplace_back(text->data(), text->size());
    }
  };
  if (stop->is_string()) return add(*stop, "stop");
  const json::array* list = fields.array("stop", limits.max_stops);
  if (list == nullptr) return;
  for (std::size_t i = 0; i < list->size(); ++i) add((*list)[i], "stop[" + std::to_string(i) + "]");
}

void read_logit_bias(FieldReader& fields, const ApiOptions& limits, SamplingParams& sampling) {
  const json::object* biases = fields.object("logit_bias");
  if (biases == nullptr) return;
  if (biases->size() > limits.max_logit_biases) {
    return fields.fail("logit_bias", "has " + std::to_string(biases->size()) + " entries; the limit is " +
                                         std::to_string(limits.max_logit_biases));
  }
  FieldReader entries(*biases, fields.path_of("logit_bias"));
  for (const auto& member : *biases) {
    const std::string_view key = std::string_view(member.key()).substr(0, kShownKeyBytes);
    TokenId token = 0;
    const auto parsed = std::from_chars(key.data(), key.data() + key.size(), token);
    if (parsed.ec != std::errc() || std::to_string(token) != std::string_view(member.key()) || token < 0) {
      entries.fail(key, "must have a token id as its key: a whole number from 0 to 2147483647");
    } else if (std::string fault = number_fault(member.value(), -SamplingLimits::kMaxBias, SamplingLimits::kMaxBias);
               !fault.empty()) {
      entries.fail(key, std::move(fault));
    } else {
      sampling.logit_bias.push_back({token, static_cast<float>(member.value().to_number<double>())});
    }
  }
  if (entries.failed()) fields.fail_with(entries.status().error());
}

void read_sampling(FieldReader& fields, const ApiOptions& limits, SamplingParams& sampling) {
  const auto in = [&](double lowest, double highest) {
    return [&fields, lowest, highest](std::string_view name) { return fields.number(name, lowest, highest); };
  };
  sampling.temperature =
      as_float(fields.number("temperature", 0.0, SamplingLimits::kMaxTemperature), sampling.temperature);
  sampling.top_p = as_float(fields.number("top_p", 0.0, 1.0), sampling.top_p);
  // -1 is how some clients write "off".
  sampling.top_k =
      static_cast<std::int32_t>(std::max<std::int64_t>(fields.integer("top_k", -1, kMaxInt32).value_or(0), 0));
  sampling.min_p = as_float(fields.number("min_p", 0.0, 1.0), sampling.min_p);
  sampling.typical_p = as_float(fields.number("typical_p", SamplingLimits::kMinTypicalP, 1.0), sampling.typical_p);
  sampling.repetition_penalty =
      as_float(either<double>(fields, "repetition_penalty", "repeat_penalty",
                              in(SamplingLimits::kMinRepetitionPenalty, SamplingLimits::kMaxRepetitionPenalty)),
               sampling.repetition_penalty);
  sampling.presence_penalty =
      as_float(fields.number("presence_penalty", -SamplingLimits::kMaxPenalty, SamplingLimits::kMaxPenalty),
               sampling.presence_penalty);
  sampling.frequency_penalty =
      as_float(fields.number("frequency_penalty", -SamplingLimits::kMaxPenalty, SamplingLimits::kMaxPenalty),
               sampling.frequency_penalty);
  sampling.penalty_last_n =
      static_cast<std::int32_t>(fields.integer("repeat_last_n", -1, kMaxInt32).value_or(sampling.penalty_last_n));
  sampling.penalize_prompt = fields.boolean("penalize_prompt").value_or(true);
  read_logit_bias(fields, limits, sampling);
}

// Any 64-bit integer, signed or not: the same bits give the same draws.
void read_seed(FieldReader& fields, GenerationOptions& options) {
  const json::value* seed = fields.any("seed");
  if (seed == nullptr) return;
  if (const auto* large = seed->if_uint64()) {
    options.seed = *large;
  } else if (const auto whole = integral(*seed)) {
    options.seed = static_cast<std::uint64_t>(*whole);
  } else {
    fields.fail("seed", "must be a whole number from -9223372036854775808 to 18446744073709551615");
  }
}

void read_length(FieldReader& fields, GenerationOptions& options) {
  const auto limit = either<std::int64_t>(fields, "max_tokens", "max_completion_tokens",
                                          [&](std::string_view name) { return fields.integer(name, 1, kMaxInt32); });
  if (limit) options.max_tokens = static_cast<std::uint32_t>(*limit);
  options.min_tokens = static_cast<std::uint32_t>(fields.integer("min_tokens", 0, kMaxInt32).value_or(0));
  if (options.max_tokens && options.min_tokens > *options.max_tokens) {
    fields.fail("min_tokens", "is " + std::to_string(options.min_tokens) + ", more than max_tokens, " +
                                  std::to_string(*options.max_tokens));
  }
}

void read_stream(FieldReader& fields, const ApiOptions& limits, GenerationOptions& options) {
  options.stream = fields.boolean("stream").value_or(false);
  const json::object* stream_options = fields.object("stream_options");
  if (stream_options == nullptr) return;
  if (!options.stream) return fields.fail("stream_options", "is only allowed together with \"stream\": true");
  FieldReader inner(*stream_options, fields.path_of("stream_options"));
  options.include_usage = inner.boolean("include_usage").value_or(false);
  if (limits.strict) inner.refuse_unread();
  if (inner.failed()) fields.fail_with(inner.status().error());
}

}  // namespace

GenerationOptions read_options(FieldReader& fields, const ApiOptions& limits) {
  GenerationOptions options;
  options.model = fields.string("model", limits.max_name_bytes).value_or("");
  options.user = fields.string("user", limits.max_name_bytes).value_or("");
  options.service_tier = fields.string("service_tier", limits.max_name_bytes).value_or("");
  read_stream(fields, limits, options);
  options.choices = static_cast<std::uint32_t>(fields.integer("n", 1, limits.max_choices).value_or(1));
  read_stops(fields, limits, options);
  options.stop_tokens = fields.token_ids("stop_token_ids", limits.max_stop_tokens).value_or(std::vector<TokenId>());
  read_length(fields, options);
  options.ignore_eos = fields.boolean("ignore_eos").value_or(false);
  options.use_prefix_cache = fields.boolean("cache_prompt").value_or(true);
  read_seed(fields, options);
  read_sampling(fields, limits, options.sampling);
  refuse_unsupported(fields);
  return options;
}

}  // namespace takt::api
