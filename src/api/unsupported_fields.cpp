#include "api/unsupported_fields.h"

namespace takt::api {

namespace json = boost::json;

namespace {

using IsNeutral = bool (*)(const json::value&);

bool is_text(const json::value& value, std::string_view text) {
  const json::string* string = value.if_string();
  return string != nullptr && std::string_view(string->data(), string->size()) == text;
}

bool never(const json::value&) {
  return false;
}
bool anything(const json::value&) {
  return true;
}
bool when_false(const json::value& value) {
  return value.is_bool() && !value.get_bool();
}
bool when_true(const json::value& value) {
  return value.is_bool() && value.get_bool();
}
bool when_zero(const json::value& value) {
  return value.is_number() && value.to_number<double>() == 0.0;
}
bool when_one(const json::value& value) {
  return value.is_number() && value.to_number<double>() == 1.0;
}
bool when_empty(const json::value& value) {
  if (const auto* list = value.if_array()) return list->empty();
  if (const auto* object = value.if_object()) return object->empty();
  const auto* text = value.if_string();
  return text != nullptr && text->empty();
}
bool without_choice(const json::value& value) {
  return is_text(value, "none") || is_text(value, "auto");
}
bool known_tier(const json::value& value) {
  return is_text(value, "auto") || is_text(value, "default") || is_text(value, "flex");
}
bool text_format(const json::value& value) {
  const json::object* object = value.if_object();
  const json::value* type = object != nullptr ? object->if_contains("type") : nullptr;
  return type != nullptr && is_text(*type, "text");
}
bool text_only(const json::value& value) {
  const json::array* list = value.if_array();
  return list != nullptr && list->size() == 1 && is_text((*list)[0], "text");
}

struct UnsupportedField {
  std::string_view name;
  IsNeutral is_neutral;
  std::string_view reason;  // ends the sentence "'name' ..."
};

constexpr UnsupportedField kFields[] = {
    // Tools and formats.
    {"tools", when_empty, "is not supported yet: leave it out or send an empty list"},
    {"tool_choice", without_choice, "is not supported yet: only \"none\" and \"auto\" are accepted"},
    {"functions", when_empty, "is not supported: leave it out or send an empty list"},
    {"function_call", without_choice, "is not supported: only \"none\" and \"auto\" are accepted"},
    {"parallel_tool_calls", anything, ""},
    {"response_format", text_format, "is not supported yet beyond {\"type\": \"text\"}"},
    {"grammar", when_empty, "is not supported yet"},
    {"json_schema", when_empty, "is not supported yet"},
    {"guided_json", never, "is not supported yet"},
    {"guided_regex", never, "is not supported yet"},
    {"guided_choice", never, "is not supported yet"},
    {"guided_grammar", never, "is not supported yet"},
    {"structured_outputs", never, "is not supported yet"},
    // Other media and sources.
    {"modalities", text_only, "is not supported beyond [\"text\"]"},
    {"audio", never, "is not supported: this server answers with text"},
    {"web_search_options", never, "is not supported: this server does not search"},
    {"documents", when_empty, "is not supported yet"},
    // How the answer is made.
    {"reasoning_effort", never, "is not supported: pass what the model's template reads in 'chat_template_kwargs'"},
    {"verbosity", never, "is not supported"},
    {"chat_template", never, "is not supported: the model's own template is used"},
    {"best_of", when_one, "is not supported: ask for 'n' choices and choose"},
    {"suffix", when_empty, "is not supported"},
    {"use_beam_search", when_false, "is not supported"},
    {"length_penalty", when_one, "is not supported"},
    {"early_stopping", when_false, "is not supported"},
    {"mirostat", when_zero, "is not supported"},
    {"mirostat_mode", when_zero, "is not supported"},
    {"dynatemp_range", when_zero, "is not supported"},
    {"xtc_probability", when_zero, "is not supported"},
    {"dry_multiplier", when_zero, "is not supported"},
    {"n_predict", never, "is not known here: use 'max_tokens'"},
    {"bad_words", when_empty, "is not supported: ban tokens with 'logit_bias'"},
    {"skip_special_tokens", when_true, "is not supported: control tokens never appear in the answer's text"},
    {"include_stop_str_in_output", when_false, "is not supported: a stop string is never part of the answer"},
    {"truncate_prompt_tokens", never, "is not supported: a prompt is never cut"},
    {"prompt_logprobs", never, "is not supported: use 'echo' with 'logprobs' on /v1/completions"},
    // Nothing in the answer depends on these.
    {"service_tier", known_tier, "is not supported beyond \"auto\", \"default\" and \"flex\""},
    {"prediction", anything, ""},
    {"metadata", anything, ""},
    {"store", anything, ""},
    {"safety_identifier", anything, ""},
    {"prompt_cache_key", anything, ""},
    {"prompt_cache_retention", anything, ""},
};

}  // namespace

void refuse_unsupported(FieldReader& fields) {
  for (const UnsupportedField& field : kFields) {
    const json::value* value = fields.any(field.name);
    if (value != nullptr && !field.is_neutral(*value))
      fields.fail(field.name, std::string(field.reason), ErrorCode::kUnsupported);
  }
}

}  // namespace takt::api
