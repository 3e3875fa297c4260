#include <sstream>

#include "base/guarded_toml.h"
#include "base/small_file.h"
#include "load/load_settings.h"

namespace takt::load {
namespace {

constexpr std::size_t kMostClassesOfAFile = 1000;

// As it would be written after NAME=.
Result<std::string> value_text(const toml::node& value) {
  if (const auto text = value.value_exact<std::string>()) return *text;
  if (const auto whole = value.value_exact<std::int64_t>()) return std::to_string(*whole);
  if (const auto number = value.value_exact<double>()) {
    std::ostringstream text;
    text.precision(17);
    text << *number;
    return text.str();
  }
  return Error::invalid("class", "a setting of a class is a text or a number");
}

Error with_place(const Error& error, const std::string& path, const toml::node& node) {
  Error placed = error;
  placed.message = path + ":" + std::to_string(node.source().begin.line) + ": " + error.message;
  return placed;
}

Result<ClassSettings> read_class(const toml::table& table, const std::string& path) {
  ClassSettings settings;
  for (const auto& [key, value] : table) {
    const auto text = value_text(value);
    if (!text) return with_place(text.error(), path, value);
    if (const auto status = set(settings, key.str(), *text); !status) return with_place(status.error(), path, value);
  }
  return settings;
}

Result<std::vector<ClassSettings>> read_tables(const toml::table& root, const std::string& path) {
  std::vector<ClassSettings> classes;
  for (const auto& [key, value] : root) {
    const auto* list = key == "class" ? value.as_array() : nullptr;
    if (list == nullptr || list->size() > kMostClassesOfAFile)
      return with_place(Error::invalid(std::string(key.str()), "only [[class]] tables can stand here, at most 1,000"),
                        path, value);
    for (const auto& entry : *list) {
      const auto* table = entry.as_table();
      if (table == nullptr) return with_place(Error::invalid("class", "class is no table"), path, entry);
      auto settings = read_class(*table, path);
      if (!settings) return settings.error();
      classes.push_back(std::move(*settings));
    }
  }
  if (classes.empty()) return Error::invalid("class", path + ": there is no [[class]]");
  return classes;
}

}  // namespace

Result<std::vector<ClassSettings>> read_load_file(const std::string& path) {
  const auto text = read_small_file(path, kMostTomlBytes, "load");
  if (!text) return text.error();
  const auto document = parse_guarded_toml(*text, path, "load");
  if (!document) return document.error();
  return read_tables(*document, path);
}

}  // namespace takt::load
