#include "serve/token_trail.h"

#include <algorithm>
#include <utility>

namespace takt::serve {

namespace {

bool begins_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
}

std::size_t last_character_bytes(std::string_view text) {
  const auto last = std::find_if(text.rbegin(), text.rend(), begins_character);
  return static_cast<std::size_t>(last - text.rbegin()) + 1;
}

}  // namespace

std::uint32_t character_count(std::string_view text) {
  return static_cast<std::uint32_t>(std::count_if(text.begin(), text.end(), begins_character));
}

std::uint32_t TokenOffsets::next(std::string_view piece) {
  if (piece.empty()) return characters_;
  characters_ += character_count(utf8_.push(piece.substr(0, 1)));
  // Unless it waits for more, the first byte's own character is among those just counted.
  const std::uint32_t offset = characters_ - (utf8_.holds_back() ? 0 : 1);
  characters_ += character_count(utf8_.push(piece.substr(1)));
  return offset;
}

std::string TokenTrail::add(api::ScoredToken token, std::string_view piece) {
  held_.push_back({std::move(token), 0, {}});
  std::string text;
  for (std::size_t i = 0; i < piece.size(); ++i) {
    const std::string released = utf8_.push(piece.substr(i, 1));
    if (!released.empty()) {
      // Bytes that turn out to be no character end before the one that showed it.
      const bool apart = !utf8_.holds_back() && character_count(released) > 1;
      settle(decoded_ + released.size() - (apart ? last_character_bytes(released) : 0));
      decoded_ += released.size();
    }
    ++held_.back().bytes;
    if (!utf8_.holds_back()) settle(decoded_);
    text += released;
  }
  return text;
}

std::string TokenTrail::finish() {
  std::string text = utf8_.finish();
  decoded_ += text.size();
  settle(decoded_);
  return text;
}

// Every byte so far whose character was not decoded belongs to one that ends at `end`.
void TokenTrail::settle(std::size_t end) {
  for (Held& held : held_) held.ends.resize(held.bytes, end);
}

void TokenTrail::take(std::size_t bytes, std::vector<api::ScoredToken>& out) {
  while (!held_.empty()) {
    const Held& front = held_.front();
    const bool decoded = front.ends.size() == front.bytes;
    if (!decoded || (!front.ends.empty() && front.ends.back() > bytes)) return;
    out.push_back(std::move(held_.front().token));
    held_.pop_front();
  }
}

void TokenTrail::take_cut(std::size_t bytes, std::vector<api::ScoredToken>& out) {
  take(bytes, out);
  if (held_.empty()) return;
  Held& front = held_.front();
  const auto inside = std::upper_bound(front.ends.begin(), front.ends.end(), bytes) - front.ends.begin();
  if (inside > 0) {
    front.token.bytes.resize(static_cast<std::size_t>(inside));
    out.push_back(std::move(front.token));
  }
  held_.clear();
}

}  // namespace takt::serve
