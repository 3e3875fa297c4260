#include <string>
#include <utility>
#include <vector>

#include "base/guarded_toml.h"
#include "base/small_file.h"
#include "config/settings.h"

namespace takt::config {
namespace {

constexpr std::size_t kMostTableDepth = 8;

std::string toml_kind(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "a list";
    case toml::node_type::string:
      return "a text";
    case toml::node_type::integer:
      return "a whole number";
    case toml::node_type::floating_point:
      return "a number";
    case toml::node_type::boolean:
      return "true or false";
    case toml::node_type::date:
      return "a date";
    case toml::node_type::time:
      return "a time of the day";
    case toml::node_type::date_time:
      return "a date with a time";
    case toml::node_type::none:
      break;
  }
  return "nothing";
}

// False for what no option can be; the value then says what that is.
bool to_value(const toml::node& node, Value& value) {
  if (const auto* flag = node.as_boolean()) {
    value.emplace<bool>(flag->get());
  } else if (const auto* whole = node.as_integer()) {
    value.emplace<std::int64_t>(whole->get());
  } else if (const auto* real = node.as_floating_point()) {
    value.emplace<double>(real->get());
  } else if (const auto* text = node.as_string()) {
    value.emplace<std::string>(text->get());
  } else if (const auto* array = node.as_array()) {
    std::vector<std::string> texts;
    for (const toml::node& item : *array) {
      const auto* item_text = item.as_string();
      if (item_text == nullptr) {
        value.emplace<std::string>("a list with " + toml_kind(item) + " in it");
        return false;
      }
      texts.push_back(item_text->get());
    }
    value = std::move(texts);
  } else {
    value.emplace<std::string>(toml_kind(node));
    return false;
  }
  return true;
}

class TomlReader {
 public:
  explicit TomlReader(std::string name) : name_(std::move(name)) {}

  Status read(const toml::table& table, const std::string& before, std::size_t depth) {
    if (depth > kMostTableDepth) return Error::invalid("config", where(table) + ": nested too deeply");
    for (const auto& [name, node] : table) {
      if (Status read = read_node(before + std::string(name.str()), node, depth); !read) return read;
    }
    return {};
  }
  Settings take() { return std::move(settings_); }

 private:
  std::string where(const toml::node& node) const { return name_ + ":" + std::to_string(node.source().begin.line); }

  void add(const std::string& key, Setting::Kind kind, const toml::node& node, Value value = {}) {
    settings_.push_back({key, kind, std::move(value), where(node), where(node)});
  }

  Status read_node(const std::string& key, const toml::node& node, std::size_t depth) {
    if (const auto* table = node.as_table()) {
      if (table->empty()) add(key, Setting::Kind::kSection, node);
      return read(*table, key + ".", depth + 1);
    }
    const auto* array = node.as_array();
    if (array != nullptr && array->is_array_of_tables()) return read_tables(key, *array, depth);
    Value value;
    const bool fits = to_value(node, value);
    add(key, fits ? Setting::Kind::kValue : Setting::Kind::kUnfit, node, std::move(value));
    return {};
  }

  Status read_tables(const std::string& key, const toml::array& array, std::size_t depth) {
    const std::size_t place = settings_.size();
    add(key, Setting::Kind::kNewList, array);
    std::size_t count = 0;
    for (const toml::node& item : array) {
      const std::string entry = key + "." + std::to_string(++count);
      add(entry, Setting::Kind::kNewEntry, item);
      if (Status read = this->read(*item.as_table(), entry + ".", depth + 1); !read) return read;
    }
    settings_[place].value = static_cast<std::int64_t>(settings_.size() - place - 1);
    return {};
  }

  std::string name_;
  Settings settings_;
};

}  // namespace

Result<Settings> parse_toml(const std::string& text, const std::string& name) {
  const auto document = parse_guarded_toml(text, name, "config");
  if (!document) return document.error();
  TomlReader reader(name);
  if (Status read = reader.read(*document, "", 0); !read) return read.error();
  Settings settings = reader.take();
  if (Status single = refuse_repeated(settings); !single) return single.error();
  return settings;
}

Result<Settings> read_toml_file(const std::string& path) {
  const auto text = read_small_file(path, kMostTomlBytes, "config");
  if (!text) return text.error();
  return parse_toml(*text, path);
}

}  // namespace takt::config
