#include "load/token_event.h"

#include <array>
#include <boost/json/basic_parser_impl.hpp>
#include <cstdint>

namespace takt::load {
namespace {

namespace json = boost::json;

// Follows the one path that matters, root.choices[0].delta, and gives up where anything else would have to be
// understood.
class TokenEventHandler {
 public:
  TokenEventHandler(AnswerEvent& event, bool keep_text) : event_(event), keep_text_(keep_text) {}

  static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_array_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_key_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_string_size = static_cast<std::size_t>(-1);

  using error_code = json::error_code;
  using string_view = json::string_view;

  bool on_document_begin(error_code& /*error*/) { return true; }
  bool on_document_end(error_code& /*error*/) { return true; }
  bool on_object_begin(error_code& error) { return begin(true, error); }
  bool on_object_end(std::size_t /*count*/, error_code& /*error*/) { return end(); }
  bool on_array_begin(error_code& error) { return begin(false, error); }
  bool on_array_end(std::size_t /*count*/, error_code& /*error*/) { return end(); }

  bool on_key_part(string_view /*part*/, std::size_t /*size*/, error_code& /*error*/) { return true; }
  bool on_key(string_view part, std::size_t size, error_code& error) {
    if (elsewhere_ > 0) return true;
    if (part.size() != size) return give_up(error);  // written with escapes
    key_ = key_of({part.data(), part.size()});
    if (key_ == Key::kOther) return true;
    // Of equal names the last one counts: let somebody else find it.
    const unsigned bit = 1U << static_cast<unsigned>(key_);
    unsigned& seen = seen_.at(static_cast<std::size_t>(place_));
    if ((seen & bit) != 0) return give_up(error);
    seen |= bit;
    return true;
  }

  bool on_string_part(string_view part, std::size_t size, error_code& error) { return take_text(part, size, error); }
  bool on_string(string_view part, std::size_t size, error_code& error) {
    return take_text(part, size, error) && scalar(Kind::kText, error);
  }
  bool on_number_part(string_view /*part*/, error_code& /*error*/) { return true; }
  bool on_int64(std::int64_t /*value*/, string_view /*text*/, error_code& error) { return scalar(Kind::kOther, error); }
  bool on_uint64(std::uint64_t /*value*/, string_view /*text*/, error_code& error) {
    return scalar(Kind::kOther, error);
  }
  bool on_double(double /*value*/, string_view /*text*/, error_code& error) { return scalar(Kind::kOther, error); }
  bool on_bool(bool /*value*/, error_code& error) { return scalar(Kind::kOther, error); }
  bool on_null(error_code& error) { return scalar(Kind::kNull, error); }
  bool on_comment_part(string_view /*part*/, error_code& /*error*/) { return true; }
  bool on_comment(string_view /*part*/, error_code& /*error*/) { return true; }

 private:
  enum class Place : std::uint8_t { kOutside, kRoot, kChoices, kChoice, kDelta, kCount };
  // A name that matters at the place where it stands.
  enum class Key : std::uint8_t { kOther, kChoices, kDelta, kObject, kFinish, kText, kThought, kMustBeNull };
  enum class Kind : std::uint8_t { kNull, kText, kOther };

  static bool give_up(error_code& error) {
    error = json::error::syntax;
    return false;
  }

  Key key_of(std::string_view name) const {
    if (place_ == Place::kRoot) {
      if (name == "choices") return Key::kChoices;
      if (name == "object") return Key::kObject;
      return name == "usage" || name == "takt" || name == "error" ? Key::kMustBeNull : Key::kOther;
    }
    if (place_ == Place::kChoice) {
      if (name == "delta") return Key::kDelta;
      if (name == "finish_reason") return Key::kFinish;
      if (name == "message") return Key::kMustBeNull;
    }
    if (name == "content" || name == "text") return Key::kText;
    if (name == "reasoning_content" || name == "reasoning" || name == "refusal") return Key::kThought;
    return name == "tool_calls" ? Key::kMustBeNull : Key::kOther;
  }

  bool begin(bool object, error_code& error) {
    if (elsewhere_ == 0 && place_ == Place::kOutside && !object) return give_up(error);
    if (elsewhere_ == 0 && place_ != Place::kChoices && key_ == Key::kMustBeNull) return give_up(error);
    if (const Place next = inside(object); elsewhere_ == 0 && next != Place::kOutside) {
      place_ = next;
      key_ = Key::kOther;
    } else {
      ++elsewhere_;
    }
    if (place_ == Place::kDelta && choice_has_text_) return give_up(error);
    return true;
  }

  // Where a value that begins here leads to; kOutside: to nothing that matters.
  Place inside(bool object) {
    if (elsewhere_ > 0) return Place::kOutside;
    switch (place_) {
      case Place::kOutside:
        return Place::kRoot;
      case Place::kRoot:
        return !object && key_ == Key::kChoices ? Place::kChoices : Place::kOutside;
      case Place::kChoices:
        return choices_++ == 0 && object ? Place::kChoice : Place::kOutside;
      case Place::kChoice:
        return object && key_ == Key::kDelta ? Place::kDelta : Place::kOutside;
      default:
        return Place::kOutside;
    }
  }

  bool end() {
    if (elsewhere_ > 0) {
      --elsewhere_;
    } else {
      place_ = static_cast<Place>(static_cast<std::uint8_t>(place_) - 1);
      has_delta_ = has_delta_ || place_ == Place::kChoice;
    }
    key_ = Key::kOther;
    return true;
  }

  bool take_text(string_view part, std::size_t size, error_code& error) {
    if (elsewhere_ > 0 || place_ == Place::kChoices || size == 0) return true;
    if (key_ == Key::kObject && (part.size() != size || part == "error")) return give_up(error);
    if (key_ != Key::kText && key_ != Key::kThought) return true;
    choice_has_text_ = choice_has_text_ || place_ == Place::kChoice;
    if (choice_has_text_ && has_delta_) return give_up(error);
    event_.has_token = true;
    if (key_ == Key::kText && keep_text_) event_.text.append(part.data(), part.size());
    return true;
  }

  bool scalar(Kind kind, error_code& error) {
    if (elsewhere_ > 0) return true;
    if (place_ == Place::kOutside) return give_up(error);
    if (place_ == Place::kChoices) {
      ++choices_;
      return true;
    }
    if (key_ == Key::kMustBeNull && kind != Kind::kNull) return give_up(error);
    if (key_ == Key::kFinish && kind == Kind::kText) return give_up(error);
    return true;
  }

  AnswerEvent& event_;
  const bool keep_text_;
  Place place_ = Place::kOutside;
  Key key_ = Key::kOther;
  std::uint32_t elsewhere_ = 0;  // levels inside a value that does not matter
  std::uint32_t choices_ = 0;    // that began
  bool has_delta_ = false;
  bool choice_has_text_ = false;                                          // beside a delta, not in it
  std::array<unsigned, static_cast<std::size_t>(Place::kCount)> seen_{};  // names at each place, a bit for each kind
};

}  // namespace

bool read_token_event(std::string_view text, bool keep_text, AnswerEvent& event) {
  json::parse_options options;
  options.max_depth = kMaxEventDepth;
  json::basic_parser<TokenEventHandler> parser(options, event, keep_text);
  json::error_code error;
  const std::size_t read = parser.write_some(false, text.data(), text.size(), error);
  return !error && read == text.size() && parser.done();
}

}  // namespace takt::load
