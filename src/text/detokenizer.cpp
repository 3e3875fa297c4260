#include "text/detokenizer.h"

#include "text/unicode.h"

namespace takt {
namespace {

// True when more bytes could still make `rest` a character: it ends inside a well-formed beginning.
bool may_become_character(std::string_view rest, const unicode::DecodedChar& decoded) {
  if (decoded.valid || decoded.length != rest.size()) return false;
  const auto lead = static_cast<unsigned char>(rest[0]);
  return lead >= 0xC2 && lead <= 0xF4;
}

}  // namespace

std::string Utf8Stream::push(std::string_view bytes) {
  pending_.append(bytes);
  std::string released;
  released.reserve(pending_.size());
  std::string_view rest = pending_;
  while (!rest.empty()) {
    const std::size_t valid = unicode::valid_prefix_length(rest);
    released.append(rest.substr(0, valid));
    rest.remove_prefix(valid);
    if (rest.empty()) break;
    const auto bad = unicode::decode_one(rest);
    if (may_become_character(rest, bad)) break;
    unicode::append_utf8(released, unicode::kReplacement);
    rest.remove_prefix(bad.length);
  }
  pending_.erase(0, pending_.size() - rest.size());
  return released;
}

std::string Utf8Stream::finish() {
  std::string released;
  // What waits is the beginning of one character, so one maximal subpart.
  if (!pending_.empty()) unicode::append_utf8(released, unicode::kReplacement);
  pending_.clear();
  return released;
}

}  // namespace takt
