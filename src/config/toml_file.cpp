#include "config/toml_file.h"

#include <toml++/toml.h>

#include <cerrno>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

namespace takt::config {
namespace {

constexpr std::size_t kMaxFileBytes = 1024 * 1024;

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

Error located(const std::string& name, const toml::source_region& where, const Error& error) {
  Error result = error;
  result.message = name + ":" + std::to_string(where.begin.line) + ": " + error.field + ": " + error.message;
  return result;
}

Status apply_option(const std::string& key, const toml::node& node, const std::string& name, OptionTable& options) {
  Value value;
  if (!to_value(node, value)) {
    const Option* option = options.find(key);
    if (option == nullptr) return located(name, node.source(), options.unknown(key));
    return located(name, node.source(), Error::invalid(key, "must be " + option->allowed));
  }
  const auto status = options.set(key, value, name + ":" + std::to_string(node.source().begin.line));
  if (!status) return located(name, node.source(), status.error());
  return {};
}

Status apply_document(const toml::table& document, const std::string& name, OptionTable& options) {
  for (const auto& [section, node] : document) {
    const std::string prefix(section.str());
    const auto* table = node.as_table();
    if (table == nullptr) {
      Error error = options.unknown(prefix);
      error.message = "stands outside a section such as [scheduler]; " + error.message;
      return located(name, node.source(), error);
    }
    if (!options.has_section(prefix) && table->empty()) return located(name, node.source(), options.unknown(prefix));
    for (const auto& [key, value] : *table) {
      if (const auto status = apply_option(prefix + "." + std::string(key.str()), value, name, options); !status)
        return status;
    }
  }
  return {};
}

}  // namespace

Status apply_toml(const std::string& text, const std::string& name, OptionTable& options) {
  try {
    return apply_document(toml::parse(text, name), name, options);
  } catch (const toml::parse_error& error) {
    return Error::invalid(
        "config", name + ":" + std::to_string(error.source().begin.line) + ": " + std::string(error.description()));
  }
}

Status apply_toml_file(const std::string& path, OptionTable& options) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text(kMaxFileBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad() || (!file && file.gcount() == 0 && errno != 0)) {
    return Error{ErrorCode::kIo, path + ": " + std::generic_category().message(errno), "config"};
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kMaxFileBytes) return Error::invalid("config", path + ": larger than 1 MiB");
  return apply_toml(text, path, options);
}

}  // namespace takt::config
