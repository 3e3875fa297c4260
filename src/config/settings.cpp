#include "config/settings.h"

#include <boost/json.hpp>

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "config/repeated_json_key.h"

namespace takt::config {
namespace {

namespace json = boost::json;

constexpr const char* kOrigin = "admin";
constexpr std::size_t kMostDepth = 8;
constexpr std::size_t kMostBytes = 1024 * 1024;
constexpr const char* kTwice = "stands there twice: say which of the two is meant";

Error described(const Setting& setting, const Error& error) {
  Error result = error;
  if (!setting.flag.empty()) result.field = setting.flag;
  const bool unknown = error.message.starts_with("unknown option");
  if (unknown && setting.key.find('.') == std::string::npos && setting.kind != Setting::Kind::kSection)
    result.message = "stands outside a section such as [scheduler]; " + error.message;
  if (!setting.where.empty()) result.message = setting.where + ": " + error.field + ": " + result.message;
  return result;
}

// An empty list of tables looks like one of texts.
Status apply_value(const Setting& setting, OptionTable& options) {
  const auto* texts = std::get_if<std::vector<std::string>>(&setting.value);
  if (texts != nullptr && texts->empty() && options.is_list(setting.key)) return options.begin_list(setting.key);
  return options.set(setting.key, setting.value, setting.origin);
}

Status apply_one(const Setting& setting, OptionTable& options) {
  switch (setting.kind) {
    case Setting::Kind::kValue:
      return apply_value(setting, options);
    case Setting::Kind::kText:
      return options.set_text(setting.key, std::get<std::string>(setting.value), setting.origin);
    case Setting::Kind::kNewList:
      return options.begin_list(setting.key);
    case Setting::Kind::kNewEntry:
      return options.begin_entry(setting.key);
    case Setting::Kind::kSection:
      return options.check_section(setting.key);
    case Setting::Kind::kForget:
      return {};
    case Setting::Kind::kUnfit:
      break;
  }
  return options.misfit(setting.key, std::get<std::string>(setting.value));
}

std::string json_kind(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null:
      return "null";
    case json::kind::bool_:
      return "true or false";
    case json::kind::int64:
      return "a whole number";
    case json::kind::uint64:
      return "a whole number beyond 64 bits with a sign";
    case json::kind::double_:
      return "a number";
    case json::kind::string:
      return "a text";
    case json::kind::array:
      return "a list";
    case json::kind::object:
      break;
  }
  return "an object";
}

class JsonReader {
 public:
  Status read(const json::object& object, const std::string& before, std::size_t depth) {
    if (depth > kMostDepth) return Error::invalid(before.substr(0, before.size() - 1), "is nested too deeply");
    for (const auto& [name, value] : object) {
      if (Status read = read_value(before + std::string(name), value, depth); !read) return read;
    }
    return {};
  }
  Settings take() { return std::move(settings_); }

 private:
  Status read_value(const std::string& key, const json::value& value, std::size_t depth) {
    if (const auto* object = value.if_object()) {
      if (object->empty()) settings_.push_back({key, Setting::Kind::kSection, {}, kOrigin});
      return read(*object, key + ".", depth + 1);
    }
    const auto* array = value.if_array();
    if (array != nullptr && !array->empty() && array->front().is_object()) return read_tables(key, *array, depth);
    settings_.push_back(setting_of(key, value));
    return {};
  }

  Status read_tables(const std::string& key, const json::array& array, std::size_t depth) {
    const std::size_t place = settings_.size();
    settings_.push_back({key, Setting::Kind::kNewList, {}, kOrigin});
    std::size_t count = 0;
    for (const json::value& item : array) {
      const std::string entry = key + "." + std::to_string(++count);
      const auto* table = item.if_object();
      if (table == nullptr) return Error::invalid(entry, "must be a table, not " + json_kind(item));
      settings_.push_back({entry, Setting::Kind::kNewEntry, {}, kOrigin});
      if (Status read = this->read(*table, entry + ".", depth + 1); !read) return read;
    }
    settings_[place].value = static_cast<std::int64_t>(settings_.size() - place - 1);
    return {};
  }

  static Setting unfit(const std::string& key, std::string what) {
    return {key, Setting::Kind::kUnfit, Value(std::move(what)), kOrigin};
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
        if (item_text == nullptr) return unfit(key, "a list with " + json_kind(item) + " in it");
        texts.emplace_back(*item_text);
      }
    } else {
      return unfit(key, json_kind(value));
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
  if (error == json::error::too_deep)
    return Error::invalid("", "The body is nested deeper than " + std::to_string(options.max_depth) + " levels");
  if (error) return Error::invalid("", "The body is no JSON: " + error.message());
  // The library keeps the last of two.
  if (std::string key = repeated_json_key(body, options.max_depth); !key.empty())
    return Error::invalid(std::move(key), kTwice);
  JsonReader reader;
  if (Status read = reader.read(document.as_object(), "", 0); !read) return read.error();
  Settings settings = reader.take();
  if (Status single = refuse_repeated(settings); !single) return single.error();
  return settings;
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

// Of a list, how many of the settings behind it are in it; nothing for what is no list.
std::optional<std::size_t> settings_inside(const Setting& setting) {
  const auto* count = std::get_if<std::int64_t>(&setting.value);
  if (setting.kind == Setting::Kind::kNewList) return count == nullptr ? 0 : static_cast<std::size_t>(*count);
  const auto* texts = std::get_if<std::vector<std::string>>(&setting.value);
  const bool empty_list = setting.kind == Setting::Kind::kValue && texts != nullptr && texts->empty();
  return empty_list ? std::optional<std::size_t>(0) : std::nullopt;
}

}  // namespace

Status apply_settings(const Settings& settings, OptionTable& options) {
  for (const Setting& setting : settings) {
    if (Status applied = apply_one(setting, options); !applied) return described(setting, applied.error());
  }
  return {};
}

Status refuse_repeated(const Settings& settings) {
  std::set<std::string_view> keys;
  std::map<std::string_view, std::size_t> lists;  // with the place behind what stands in them
  const auto refused = [](const Setting& setting, const std::string& why) {
    return Error::invalid(setting.key, setting.where.empty() ? why : setting.where + ": " + setting.key + ": " + why);
  };
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const Setting& setting = settings[i];
    const std::string_view key = setting.key;
    if (!keys.insert(key).second) return refused(setting, kTwice);
    for (std::size_t dot = key.find('.'); dot != std::string_view::npos; dot = key.find('.', dot + 1)) {
      const auto list = lists.find(key.substr(0, dot));
      if (list != lists.end() && i >= list->second)
        return refused(setting, "stands there by itself, beside the whole list: give one of the two");
    }
    const auto inside = settings_inside(setting);
    if (!inside) continue;
    const std::string below = setting.key + ".";
    const auto entry = keys.lower_bound(below);
    if (entry != keys.end() && entry->starts_with(below))
      return refused(setting, "stands there whole, beside entries of it by themselves: give one of the two");
    lists.emplace(key, i + 1 + *inside);
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
