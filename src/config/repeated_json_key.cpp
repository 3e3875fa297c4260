#include "config/repeated_json_key.h"

#include <boost/json/basic_parser_impl.hpp>

#include <cstdint>
#include <set>
#include <vector>

namespace takt::config {
namespace {

namespace json = boost::json;

// Receives what the library's parser reads and remembers the names of every object that is open.
class NameWatch {
 public:
  static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_array_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_key_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_string_size = static_cast<std::size_t>(-1);

  const std::string& repeated() const { return repeated_; }

  bool on_document_begin(json::error_code&) { return true; }
  bool on_document_end(json::error_code&) { return true; }
  bool on_object_begin(json::error_code&) { return open(false); }
  bool on_array_begin(json::error_code&) { return open(true); }
  bool on_object_end(std::size_t, json::error_code&) { return close(); }
  bool on_array_end(std::size_t, json::error_code&) { return close(); }
  bool on_key_part(json::string_view part, std::size_t, json::error_code&) {
    name_.append(part.data(), part.size());
    return true;
  }
  bool on_key(json::string_view part, std::size_t, json::error_code&) {
    name_.append(part.data(), part.size());
    Level& level = levels_.back();
    level.name = name_;
    if (!level.names.insert(std::move(name_)).second && repeated_.empty()) repeated_ = path();
    name_.clear();
    return true;
  }
  bool on_string_part(json::string_view, std::size_t, json::error_code&) { return true; }
  bool on_string(json::string_view, std::size_t, json::error_code&) { return value(); }
  bool on_number_part(json::string_view, json::error_code&) { return true; }
  bool on_int64(std::int64_t, json::string_view, json::error_code&) { return value(); }
  bool on_uint64(std::uint64_t, json::string_view, json::error_code&) { return value(); }
  bool on_double(double, json::string_view, json::error_code&) { return value(); }
  bool on_bool(bool, json::error_code&) { return value(); }
  bool on_null(json::error_code&) { return value(); }
  bool on_comment_part(json::string_view, json::error_code&) { return true; }
  bool on_comment(json::string_view, json::error_code&) { return true; }

 private:
  struct Level {
    bool list = false;
    std::size_t entries = 0;  // of a list, so far
    std::string name;         // of an object, the last one
    std::set<std::string> names;
  };

  bool value() {
    if (!levels_.empty() && levels_.back().list) ++levels_.back().entries;
    return true;
  }
  bool open(bool list) {
    value();
    levels_.push_back({list, 0, {}, {}});
    return true;
  }
  bool close() {
    levels_.pop_back();
    return true;
  }
  std::string path() const {
    std::string path;
    for (const Level& level : levels_) {
      if (!path.empty()) path += '.';
      path += level.list ? std::to_string(level.entries) : level.name;
    }
    return path;
  }

  std::vector<Level> levels_;
  std::string name_;
  std::string repeated_;
};

}  // namespace

std::string repeated_json_key(std::string_view text, std::size_t max_depth) {
  json::parse_options options;
  options.max_depth = max_depth;
  json::basic_parser<NameWatch> parser(options);
  json::error_code error;
  parser.write_some(false, text.data(), text.size(), error);
  return error ? std::string() : parser.handler().repeated();
}

}  // namespace takt::config
