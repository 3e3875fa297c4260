#include <toml++/toml.h>

#include <string>
#include <utility>
#include <vector>

#include "base/dotted_keys.h"
#include "base/small_file.h"
#include "config/settings.h"

namespace takt::config {
namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{1024} * 1024;
constexpr std::size_t kMostTableDepth = 8;

// False for what no option can be: tables, dates, lists of other things than texts.
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
    auto& texts = value.emplace<std::vector<std::string>>();
    for (const toml::node& item : *array) {
      const auto* item_text = item.as_string();
      if (item_text == nullptr) return false;
      texts.push_back(item_text->get());
    }
  } else {
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
    add(key, Setting::Kind::kNewList, array);
    std::size_t count = 0;
    for (const toml::node& item : array) {
      const std::string before = key + "." + std::to_string(++count) + ".";
      if (Status read = this->read(*item.as_table(), before, depth + 1); !read) return read;
    }
    return {};
  }

  std::string name_;
  Settings settings_;
};

}  // namespace

Result<Settings> parse_toml(const std::string& text, const std::string& name) {
  if (const std::size_t line = line_with_too_many_dots(text); line != 0)
    return Error::invalid("config", name + ":" + std::to_string(line) + ": more than " +
                                        std::to_string(kMostDotsOfALine) + " dots in a line");
  try {
    TomlReader reader(name);
    if (Status read = reader.read(toml::parse(text, name), "", 0); !read) return read.error();
    return reader.take();
  } catch (const toml::parse_error& error) {
    return Error::invalid(
        "config", name + ":" + std::to_string(error.source().begin.line) + ": " + std::string(error.description()));
  }
}

Result<Settings> read_toml_file(const std::string& path) {
  const auto text = read_small_file(path, kMaxFileBytes, "config");
  if (!text) return text.error();
  return parse_toml(*text, path);
}

}  // namespace takt::config
