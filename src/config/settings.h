// Settings on their way from where people wrote them to the options: a file, the command line, a request.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/option_table.h"

namespace takt::config {

struct Setting {
  enum class Kind : std::uint8_t {
    kValue,
    kText,      // `value` is a text as on a command line
    kNewList,   // the list `key` begins anew; `value` counts the settings behind it that stand in its entries
    kNewEntry,  // and has an entry `key`, whether or not an option of it follows
    kSection,   // a section without any option, which must at least exist
    kForget,    // back to what it was without its source (see ConfigSources)
    kUnfit,     // something that no option can be, such as a date; `value` is a text that says what
  };
  std::string key;
  Kind kind = Kind::kValue;
  Value value;
  std::string origin;   // as Option::origin
  std::string where{};  // "FILE:LINE", stands before messages; empty: nowhere in particular
  std::string flag{};   // what the command line calls it; empty: its key
};
using Settings = std::vector<Setting>;

// In their order. Errors: kInvalidArgument, field = the key or flag; the message begins with FILE:LINE and the key
// where the setting comes from a file. Unknown keys and wrong types are errors, never ignored.
Status apply_settings(const Settings& settings, OptionTable& options);

// Which of two values for one key is meant would be a guess, as would what single entries beside a whole list mean.
// Errors: kInvalidArgument, field = the key.
Status refuse_repeated(const Settings& settings);

// Every setting of a TOML document. Errors: kInvalidArgument with NAME:LINE for what is no TOML or nested too deeply;
// those of refuse_repeated.
Result<Settings> parse_toml(const std::string& text, const std::string& name);
// Reads the file, at most 1 MiB. Errors: kIo with the path and the system's words; those of parse_toml.
Result<Settings> read_toml_file(const std::string& path);

// A change that an administrator posts: a JSON object, nested or with dotted keys, in which null takes back what was
// posted before; or TOML. Errors: kInvalidArgument; larger than 1 MiB, nested too deeply, no option, a key twice.
Result<Settings> parse_change(const std::string& body);

}  // namespace takt::config
