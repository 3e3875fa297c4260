#include "config/option_table.h"

#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <sstream>
#include <utility>

namespace takt::config {
namespace {

constexpr std::size_t kLongestKey = 100;  // that is looked at to tell what may have been meant

// Levenshtein distance of two short keys.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replace});
    }
  }
  return row.back();
}

template <typename Number>
bool parse_number(std::string_view text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

// False when the text is no value of this kind.
bool parse_text(OptionKind kind, std::string_view text, Value& value) {
  switch (kind) {
    case OptionKind::kSwitch:
      value.emplace<bool>(text == "true");
      return text == "true" || text == "false";
    case OptionKind::kInteger:
      return parse_number(text, value.emplace<std::int64_t>());
    case OptionKind::kReal:
      return parse_number(text, value.emplace<double>());
    case OptionKind::kText:
      value.emplace<std::string>(text);
      return true;
    case OptionKind::kTexts:
      value.emplace<std::vector<std::string>>().emplace_back(text);
      return true;
  }
  return false;
}

// A path or a name with one would be cut short, or end a line of a log.
bool has_control(const std::string& text) {
  return std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; });
}

std::string number_text(double value) {
  char text[32];
  const auto [end, error] = std::to_chars(std::begin(text), std::end(text), value);
  std::string result(std::begin(text), end);
  if (result.find_first_of(".en") == std::string::npos) result += ".0";
  return result;
}

std::string quoted(const std::string& text) {
  std::ostringstream out;
  out << toml::toml_formatter(toml::value<std::string>(text), toml::format_flags::none);
  return std::move(out).str();
}

}  // namespace

std::string_view section_of(std::string_view key) {
  const auto dot = key.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : key.substr(0, dot);
}

std::string_view name_in_section(std::string_view key) {
  const auto dot = key.rfind('.');
  return dot == std::string_view::npos ? key : key.substr(dot + 1);
}

std::string to_toml(const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* number = std::get_if<double>(&value)) return number_text(*number);
  if (const auto* text = std::get_if<std::string>(&value)) return quoted(*text);
  std::string list;
  for (const auto& text : std::get<std::vector<std::string>>(value)) {
    if (!list.empty()) list += ", ";
    list += quoted(text);
  }
  return "[" + list + "]";
}

std::string kind_name(const Value& value) {
  if (std::holds_alternative<bool>(value)) return "true or false";
  if (std::holds_alternative<std::int64_t>(value)) return "a whole number";
  if (std::holds_alternative<double>(value)) return "a number";
  if (std::holds_alternative<std::string>(value)) return "a text";
  return std::get<std::vector<std::string>>(value).empty() ? "an empty list" : "a list of texts";
}

void OptionTable::add_switch(std::string key, bool& field) {
  options_.push_back({std::move(key), OptionKind::kSwitch, "true or false", false, false,
                      [&field](const Value& value) {
                        const auto* flag = std::get_if<bool>(&value);
                        if (flag != nullptr) field = *flag;
                        return flag != nullptr;
                      },
                      [&field] { return Value(field); }});
}

void OptionTable::add_number(std::string key, std::int64_t min, std::int64_t max, std::function<void(std::int64_t)> set,
                             std::function<std::int64_t()> get) {
  options_.push_back({std::move(key), OptionKind::kInteger,
                      "a whole number from " + std::to_string(min) + " to " + std::to_string(max), false, false,
                      [min, max, set = std::move(set)](const Value& value) {
                        const auto* number = std::get_if<std::int64_t>(&value);
                        if (number == nullptr || *number < min || *number > max) return false;
                        set(*number);
                        return true;
                      },
                      [get = std::move(get)] { return Value(get()); }});
}

void OptionTable::add_real(std::string key, double& field, double min, double max) {
  options_.push_back({std::move(key), OptionKind::kReal,
                      "a number from " + number_text(min) + " to " + number_text(max), false, false,
                      [&field, min, max](const Value& value) {
                        double number = std::nan("");
                        if (const auto* real = std::get_if<double>(&value)) number = *real;
                        if (const auto* whole = std::get_if<std::int64_t>(&value)) number = static_cast<double>(*whole);
                        if (!(number >= min && number <= max)) return false;
                        field = number;
                        return true;
                      },
                      [&field] { return Value(field); }});
}

void OptionTable::add_text(std::string key, std::string& field) {
  options_.push_back({std::move(key), OptionKind::kText, "a text without control characters", false, false,
                      [&field](const Value& value) {
                        const auto* text = std::get_if<std::string>(&value);
                        if (text == nullptr || has_control(*text)) return false;
                        field = *text;
                        return true;
                      },
                      [&field] { return Value(field); }});
}

void OptionTable::add_word(std::string key, const std::vector<std::string>& words, std::function<void(std::size_t)> set,
                           std::function<std::size_t()> get) {
  std::string allowed = "one of";
  for (const auto& word : words) {
    allowed += ' ';
    allowed += quoted(word);
  }
  options_.push_back({std::move(key), OptionKind::kText, std::move(allowed), false, false,
                      [words, set = std::move(set)](const Value& value) {
                        const auto* text = std::get_if<std::string>(&value);
                        if (text == nullptr) return false;
                        const auto found = std::find(words.begin(), words.end(), *text);
                        if (found == words.end()) return false;
                        set(static_cast<std::size_t>(found - words.begin()));
                        return true;
                      },
                      [words, get = std::move(get)] { return Value(words[get()]); }});
}

void OptionTable::add_choice(std::string key, std::string& field, std::vector<std::string> choices) {
  std::vector<std::pair<std::string, std::string>> words;
  for (auto& choice : choices) words.emplace_back(choice, choice);
  add_enum(std::move(key), field, std::move(words));
}

void OptionTable::add_texts(std::string key, std::vector<std::string>& field) {
  options_.push_back({std::move(key), OptionKind::kTexts, "a list of texts without control characters", false, false,
                      [&field](const Value& value) {
                        const auto* texts = std::get_if<std::vector<std::string>>(&value);
                        if (texts == nullptr || std::any_of(texts->begin(), texts->end(), has_control)) return false;
                        field = *texts;
                        return true;
                      },
                      [&field] { return Value(field); }});
}

void OptionTable::add_patterns(std::string key, std::vector<std::string>& field) {
  add_texts(std::move(key), field);
  options_.back().set = [take = options_.back().set](const Value& value) {
    const auto* text = std::get_if<std::string>(&value);
    return take(text != nullptr ? Value(std::vector<std::string>{*text}) : value);
  };
}

void OptionTable::add_secrets(std::string key, std::vector<std::string>& field) {
  add_texts(std::move(key), field);
  options_.back().secret = true;
}

const Option* OptionTable::find(std::string_view key) const {
  const auto found =
      std::find_if(options_.begin(), options_.end(), [&](const Option& option) { return option.key == key; });
  return found == options_.end() ? nullptr : &*found;
}

Error OptionTable::unknown(std::string_view key) const {
  constexpr std::size_t kFarthestHint = 5;
  constexpr std::size_t kOtherSection = 2;
  std::size_t nearest = kFarthestHint + 1;
  std::string message = "unknown option";
  if (key.size() > kLongestKey) return Error::invalid(std::string(key.substr(0, kLongestKey)), std::move(message));
  for (const Option& option : options_) {
    // The right name in the wrong section, or in none, is near too.
    const std::size_t far = std::min(distance(key, option.key),
                                     distance(name_in_section(key), name_in_section(option.key)) + kOtherSection);
    if (far >= nearest) continue;
    nearest = far;
    message = "unknown option; the closest is " + option.key;
  }
  return Error::invalid(std::string(key), std::move(message));
}

std::string OptionTable::form_of(std::string_view key) const {
  if (is_list(key)) return "a list of tables";
  const std::string_view name = name_in_section(key);
  if (is_list(section_of(key)) && name.find_first_not_of("0123456789") == std::string_view::npos) return "a table";
  const bool of_a_name = std::any_of(families_.begin(), families_.end(), [&](const Family& family) {
    return !family.list && family.section == section_of(key);
  });
  return of_a_name || has_section(key) ? "a section with options in it" : "";
}

Error OptionTable::misfit(std::string_view key, const std::string& given) const {
  const auto must_be = [](std::string_view at, const std::string& expected, const std::string& not_this) {
    return Error::invalid(std::string(at), "must be " + expected + ", not " + not_this);
  };
  if (const Option* option = find(key)) return must_be(key, option->allowed, given);
  if (const std::string form = form_of(key); !form.empty()) return must_be(key, form, given);
  if (key.size() > kLongestKey) return unknown(key);
  // Something may stand there, but nothing below it.
  for (std::size_t dot = key.find('.'); dot != std::string_view::npos; dot = key.find('.', dot + 1)) {
    const std::string_view before = key.substr(0, dot);
    if (const Option* option = find(before)) return must_be(before, option->allowed, "a table");
    const std::string_view entry = key.substr(0, key.find('.', dot + 1));
    if (is_list(before) && !has_section(entry)) return must_be(before, form_of(before), "a table");
  }
  return unknown(key);
}

Status OptionTable::check_section(std::string_view key) const {
  return has_section(key) && !is_list(key) ? Status() : Status(misfit(key, "an empty table"));
}

void OptionTable::add_named(std::string section, AddInstance add) {
  families_.push_back({std::move(section), false, std::move(add), {}});
}

void OptionTable::add_list(std::string section, AddInstance add, std::function<void()> clear) {
  families_.push_back({std::move(section), true, std::move(add), std::move(clear)});
}

bool OptionTable::is_list(std::string_view section) const {
  return std::any_of(families_.begin(), families_.end(),
                     [&](const Family& family) { return family.list && family.section == section; });
}

Status OptionTable::begin_list(std::string_view section) {
  // The instance that the list belongs to may have to be made first: class.night of class.night.hours.
  if (!is_list(section)) {
    for (std::size_t i = 0; i < families_.size(); ++i) {
      const std::string before = families_[i].section + ".";
      const std::string_view owner = section_of(section);
      if (families_[i].list || !owner.starts_with(before) || has_section(owner)) continue;
      if (Status made = make_instance(Family(families_[i]), std::string(owner.substr(before.size()))); !made)
        return made;
    }
  }
  const auto family = std::find_if(families_.begin(), families_.end(),
                                   [&](const Family& known) { return known.list && known.section == section; });
  if (family == families_.end()) return misfit(section, "a list of tables");
  std::erase_if(options_, [&](const Option& option) { return option.key.starts_with(family->section + "."); });
  family->clear();
  return {};
}

Status OptionTable::begin_entry(std::string_view entry) {
  const std::string_view list = section_of(entry);
  const auto family = std::find_if(families_.begin(), families_.end(),
                                   [&](const Family& known) { return known.list && known.section == list; });
  if (family == families_.end()) return misfit(list, "a list of tables");
  // A copy: an instance may add families of its own.
  return has_section(entry) ? Status() : make_instance(Family(*family), std::string(name_in_section(entry)));
}

void OptionTable::may_change_at_run_time(std::size_t from) {
  for (std::size_t i = from; i < options_.size(); ++i) options_[i].run_time = true;
}

Status OptionTable::make_instance(const Family& family, const std::string& name) {
  return family.add(*this, family.section + "." + name + ".", name);
}

Result<Option*> OptionTable::find_or_make(std::string_view key, const std::string& given) {
  if (const Option* found = find(key)) return const_cast<Option*>(found);
  // By index: making an instance may add families of its own, such as the hours of a class.
  for (std::size_t i = 0; i < families_.size(); ++i) {
    const std::string before = families_[i].section + ".";
    if (!key.starts_with(before)) continue;
    const std::string_view rest = key.substr(before.size());
    const std::string name(rest.substr(0, rest.find('.')));
    if (name.size() == rest.size() || name.empty() || has_section(before + name)) continue;
    if (Status made = make_instance(Family(families_[i]), name); !made) return made.error();
  }
  if (const Option* found = find(key)) return const_cast<Option*>(found);
  return misfit(key, given);
}

bool OptionTable::has_section(std::string_view section) const {
  return std::any_of(options_.begin(), options_.end(), [&](const Option& option) {
    return option.key.size() > section.size() && option.key.starts_with(section) && option.key[section.size()] == '.';
  });
}

Status OptionTable::set(std::string_view key, const Value& value, const std::string& origin) {
  Result<Option*> found = find_or_make(key, kind_name(value));
  if (!found) return found.error();
  Option& option = **found;
  if (!option.set(value)) {
    const std::string given = option.secret ? "" : ", not " + to_toml(value);
    return Error::invalid(option.key, "must be " + option.allowed + given);
  }
  option.origin = origin;
  return {};
}

Status OptionTable::set_text(std::string_view key, std::string_view text, const std::string& origin) {
  Result<Option*> found = find_or_make(key, "a text");
  if (!found) return found.error();
  const Option& option = **found;
  Value value;
  if (!parse_text(option.kind, text, value)) {
    return Error::invalid(option.key, "must be " + option.allowed + ", not " + quoted(std::string(text)));
  }
  return set(key, value, origin);
}

}  // namespace takt::config
