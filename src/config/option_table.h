// Every option of a program: its key, type and range, where its value came from, and the field it sets.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace takt::config {

using Value = std::variant<bool, std::int64_t, double, std::string, std::vector<std::string>>;

enum class OptionKind : std::uint8_t { kSwitch, kInteger, kReal, kText, kTexts };

struct Option {
  std::string key;  // section.name
  OptionKind kind = OptionKind::kText;
  std::string allowed;                    // for people, e.g. "a whole number from 1 to 65535"
  bool secret = false;                    // never printed
  bool run_time = false;                  // can change while the server runs
  std::function<bool(const Value&)> set;  // false: out of range or of the wrong type
  std::function<Value()> get;
  std::string origin =
      "default";  // default | flag | FILE:LINE | preset NAME | admin | class, of hours that do not name it
};

class OptionTable {
 public:
  // The bound fields outlive the table.
  void add_switch(std::string key, bool& field);
  template <typename Integer>
  void add_integer(const std::string& key, Integer& field, std::int64_t min, std::int64_t max);
  void add_real(std::string key, double& field, double min, double max);
  // A duration that is written in `unit`s.
  template <typename Time>
  void add_duration(const std::string& key, Time& field, Duration unit, std::int64_t min, std::int64_t max);
  void add_text(std::string key, std::string& field);
  void add_choice(std::string key, std::string& field, std::vector<std::string> choices);
  template <typename Enum>
  void add_enum(const std::string& key, Enum& field, std::vector<std::pair<std::string, Enum>> words);
  void add_texts(std::string key, std::vector<std::string>& field);
  // As add_texts; one text stands for a list of one.
  void add_patterns(std::string key, std::vector<std::string>& field);
  void add_secrets(std::string key, std::vector<std::string>& field);

  // Options that exist once per name: with the section "class", `class.night.weight` may be set for any NAME. `add`
  // binds the options of a new instance, whose keys begin with `prefix` ("class.night."). Errors: a name that may not
  // be.
  using AddInstance = std::function<Status(OptionTable& table, const std::string& prefix, const std::string& name)>;
  void add_named(std::string section, AddInstance add);
  // Options that exist once per table of a list, counted from 1: `route.1.class`. `clear` forgets the instances there
  // are.
  void add_list(std::string section, AddInstance add, std::function<void()> clear);
  bool is_list(std::string_view section) const;
  // The list begins anew. Errors: there is no such list.
  Status begin_list(std::string_view section);
  // The list has this entry, "route.1", with an option set or none. Errors: there is no such list, or another comes
  // next.
  Status begin_entry(std::string_view entry);
  // What the options from this place on, and those of their later instances, can do while the server runs.
  void may_change_at_run_time(std::size_t from);

  // Errors: kInvalidArgument, field = key: unknown (with the closest key there is), wrong type, out of range (with what
  // is allowed).
  Status set(std::string_view key, const Value& value, const std::string& origin);
  // As set, from a text as on a command line.
  Status set_text(std::string_view key, std::string_view text, const std::string& origin);

  const std::deque<Option>& options() const { return options_; }
  std::deque<Option>& options() { return options_; }
  const Option* find(std::string_view key) const;
  bool has_section(std::string_view section) const;
  // Whether a section may stand at the key without any option. Errors: nothing is there, or something else.
  Status check_section(std::string_view key) const;
  // The error for a key that cannot be what was given (its type in words): with what is expected there, or, where there
  // is no such key, with the closest one.
  Error misfit(std::string_view key, const std::string& given) const;

 private:
  // A word out of a list, by its index.
  void add_word(std::string key, const std::vector<std::string>& words, std::function<void(std::size_t)> set,
                std::function<std::size_t()> get);
  void add_number(std::string key, std::int64_t min, std::int64_t max, std::function<void(std::int64_t)> set,
                  std::function<std::int64_t()> get);

  struct Family {
    std::string section;
    bool list = false;
    AddInstance add;
    std::function<void()> clear;
  };
  // The option, made if its instance can be. `given`: the type of what is meant for it.
  Result<Option*> find_or_make(std::string_view key, const std::string& given);
  // What stands at the key when it is no option; empty: nothing does.
  std::string form_of(std::string_view key) const;
  Error unknown(std::string_view key) const;
  Status make_instance(const Family& family, const std::string& name);

  std::deque<Option> options_;
  std::vector<Family> families_;
};

// What stands before the last dot, and after it.
std::string_view section_of(std::string_view key);
std::string_view name_in_section(std::string_view key);

// A value as TOML writes it.
std::string to_toml(const Value& value);
// Its type, for people: "a whole number".
std::string kind_name(const Value& value);

template <typename Integer>
void OptionTable::add_integer(const std::string& key, Integer& field, std::int64_t min, std::int64_t max) {
  add_number(
      key, min, max, [&field](std::int64_t value) { field = static_cast<Integer>(value); },
      [&field] { return static_cast<std::int64_t>(field); });
}

template <typename Enum>
void OptionTable::add_enum(const std::string& key, Enum& field, std::vector<std::pair<std::string, Enum>> words) {
  std::vector<std::string> names;
  names.reserve(words.size());
  for (const auto& word : words) names.push_back(word.first);
  add_word(
      key, names, [&field, words](std::size_t index) { field = words[index].second; },
      [&field, words] {
        std::size_t index = 0;
        while (index + 1 < words.size() && words[index].second != field) ++index;
        return index;
      });
}

template <typename Time>
void OptionTable::add_duration(const std::string& key, Time& field, Duration unit, std::int64_t min, std::int64_t max) {
  add_number(
      key, min, max, [&field, unit](std::int64_t value) { field = std::chrono::duration_cast<Time>(unit * value); },
      [&field, unit] { return static_cast<std::int64_t>(Duration(field) / unit); });
}

}  // namespace takt::config
