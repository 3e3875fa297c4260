#include "config/settings.h"

#include <boost/json.hpp>

#include <utility>

namespace takt::config {
namespace {

namespace json = boost::json;

constexpr const char* kOrigin = "admin";
constexpr std::size_t kMostDepth = 8;
constexpr std::size_t kMostBytes = 1024 * 1024;

Error described(const Setting& setting, const Error& error) {
  Error result = error;
  if (!setting.flag.empty()) result.field = setting.flag;
  const bool outside = setting.key.find('.') == std::string::npos && setting.kind != Setting::Kind::kSection;
  if (outside) result.message = "stands outside a section such as [scheduler]; " + error.message;
  if (!setting.where.empty()) result.message = setting.where + ": " + error.field + ": " + result.message;
  return result;
}

// An empty list of tables looks like one of texts.
Status empty_list(const Setting& setting, OptionTable& options) {
  const auto* texts = std::get_if<std::vector<std::string>>(&setting.value);
  if (texts == nullptr || !texts->empty()) return Error::invalid(setting.key, "must be a list of tables");
  return options.begin_list(setting.key);
}

Status apply_one(const Setting& setting, OptionTable& options) {
  switch (setting.kind) {
    case Setting::Kind::kValue:
      if (options.is_list(setting.key)) return empty_list(setting, options);
      return options.set(setting.key, setting.value, setting.origin);
    case Setting::Kind::kText:
      return options.set_text(setting.key, std::get<std::string>(setting.value), setting.origin);
    case Setting::Kind::kNewList:
      return options.begin_list(setting.key);
    case Setting::Kind::kSection:
      return options.has_section(setting.key) ? Status() : Status(options.unknown(setting.key));
    case Setting::Kind::kForget:
      return {};
    case Setting::Kind::kUnfit:
      break;
  }
  const Option* option = options.find(setting.key);
  return option == nullptr ? options.unknown(setting.key) : Error::invalid(setting.key, "must be " + option->allowed);
}

class JsonReader {
 public:
  Status read(const json::object& object, const std::string& before, std::size_t depth) {
    if (depth > kMostDepth) return Error::invalid(before, "is nested too deeply");
    for (const auto& [name, value] : object) {
      if (Status read = read_value(before + std::string(name), value, depth); !read) return read;
    }
    return {};
  }
  Settings take() { return std::move(settings_); }

 private:
  Status read_value(const std::string& key, const json::value& value, std::size_t depth) {
    if (const auto* object = value.if_object()) return read(*object, key + ".", depth + 1);
    const auto* array = value.if_array();
    if (array != nullptr && !array->empty() && array->front().is_object()) return read_tables(key, *array, depth);
    settings_.push_back(setting_of(key, value));
    return {};
  }

  Status read_tables(const std::string& key, const json::array& array, std::size_t depth) {
    settings_.push_back({key, Setting::Kind::kNewList, {}, kOrigin});
    std::size_t count = 0;
    for (const json::value& item : array) {
      const auto* table = item.if_object();
      if (table == nullptr) return Error::invalid(key, "must be a list of objects");
      if (Status read = this->read(*table, key + "." + std::to_string(++count) + ".", depth + 1); !read) return read;
    }
    return {};
  }

  static Setting setting_of(const std::string& key, const json::value& value) {
    Setting setting{key, Setting::Kind::kValue, {}, kOrigin};
    if (value.is_null()) {
      setting.kind = Setting::Kind::kForget;
    } else if (const auto* flag = value.if_bool()) {
      setting.value.emplace<bool>(*flag);
    } else if (const auto* whole = value.if_int64()) {
      setting.value.emplace<std::int64_t>(*whole);
    } else if (const auto* real = value.if_double()) {
      setting.value.emplace<double>(*real);
    } else if (const auto* text = value.if_string()) {
      setting.value.emplace<std::string>(*text);
    } else if (const auto* array = value.if_array()) {
      auto& texts = setting.value.emplace<std::vector<std::string>>();
      for (const json::value& item : *array) {
        const auto* item_text = item.if_string();
        if (item_text == nullptr) return {key, Setting::Kind::kUnfit, {}, kOrigin};
        texts.emplace_back(*item_text);
      }
    } else {
      setting.kind = Setting::Kind::kUnfit;
    }
    return setting;
  }

  Settings settings_;
};

Result<Settings> parse_json(const std::string& body) {
  json::parse_options options;
  options.max_depth = kMostDepth + 1;
  boost::system::error_code error;
  const json::value document = json::parse(body, error, {}, options);
  if (error) return Error::invalid("", "The body is no JSON: " + error.message());
  JsonReader reader;
  if (Status read = reader.read(document.as_object(), "", 0); !read) return read.error();
  return reader.take();
}

// A body that is no JSON object is read as TOML. One that is JSON of another kind was not meant so.
Error not_understood(const std::string& body, const Error& as_toml) {
  const std::string expected =
      "The body must be a JSON object, such as {\"scheduler\": {\"step_target_ms\": 30}}, or TOML, whatever its "
      "content "
      "type says";
  boost::system::error_code error;
  json::parse_options options;
  options.max_depth = kMostDepth + 1;
  const json::value document = json::parse(body, error, {}, options);
  if (!error) {
    const std::string kind = document.is_array() ? "an array" : document.is_string() ? "a string" : "a single value";
    return Error::invalid("", expected + "; it is " + kind + " of JSON");
  }
  if (as_toml.field != "config") return as_toml;  // it is TOML, with a setting that does not fit
  return Error::invalid("", expected + ". Read as TOML, it has a fault at " + as_toml.message);
}

}  // namespace

Status apply_settings(const Settings& settings, OptionTable& options) {
  for (const Setting& setting : settings) {
    if (Status applied = apply_one(setting, options); !applied) return described(setting, applied.error());
  }
  return {};
}

Result<Settings> parse_change(const std::string& body) {
  if (body.size() > kMostBytes) return Error::invalid("", "A change of the configuration may have 1 MiB");
  const std::size_t first = body.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return Error::invalid("", "The body is empty: send a JSON object or TOML");
  Result<Settings> settings = body[first] == '{' ? parse_json(body) : parse_toml(body, kOrigin);
  if (!settings && body[first] != '{') return not_understood(body, settings.error());
  if (!settings) return settings;
  if (settings->empty()) return Error::invalid("", "The change names no option");
  for (Setting& setting : *settings) {
    setting.origin = kOrigin;
    setting.where.clear();
  }
  return settings;
}

}  // namespace takt::config
