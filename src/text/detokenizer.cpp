#include "text/detokenizer.h"

#include "text/unicode.h"

namespace takt {
namespace {

// True when more bytes may still change what `rest` stands for: it ends inside a well-formed beginning.
bool is_undecided(std::string_view rest, const unicode::DecodedChar& decoded) {
  const auto lead = static_cast<unsigned char>(rest[0]);
  // The first two bytes of an encoded surrogate are judged with the third, as incremental decoders do that can pass
  // surrogates on.
  if (rest.size() == 2 && lead == 0xED && (static_cast<unsigned char>(rest[1]) & 0xE0U) == 0xA0U) return true;
  return decoded.length == rest.size() && lead >= 0xC2 && lead <= 0xF4;
}

// Appends what can be released of `rest`; returns what must wait.
std::string_view release(std::string_view rest, bool at_end, std::string& out) {
  while (!rest.empty()) {
    const std::size_t valid = unicode::valid_prefix_length(rest);
    out.append(rest.substr(0, valid));
    rest.remove_prefix(valid);
    if (rest.empty()) break;
    const auto bad = unicode::decode_one(rest);
    if (!at_end && is_undecided(rest, bad)) break;
    unicode::append_utf8(out, unicode::kReplacement);
    rest.remove_prefix(bad.length);
  }
  return rest;
}

}  // namespace

std::string Utf8Stream::push(std::string_view bytes) {
  pending_.append(bytes);
  std::string released;
  released.reserve(pending_.size());
  const std::size_t waiting = release(pending_, false, released).size();
  pending_.erase(0, pending_.size() - waiting);
  return released;
}

std::string Utf8Stream::finish() {
  std::string released;
  release(pending_, true, released);
  pending_.clear();
  return released;
}

}  // namespace takt
