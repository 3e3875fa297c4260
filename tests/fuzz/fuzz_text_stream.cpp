// C7, C8, C10, C12: the first byte cuts the rest into pieces; what streams out is valid text and holds nothing of a
// stop string.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "text/detokenizer.h"
#include "text/stop_matcher.h"
#include "text/unicode.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace takt;
  if (size == 0) return 0;
  const std::size_t step = 1 + data[0] % 7;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  Utf8Stream stream;
  StopMatcher matcher({"ab", "\xC3\xA5\xC3\xA5", "</s>"});
  std::string sent;
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    const std::string text = stream.push(bytes.substr(at, step));
    if (unicode::valid_prefix_length(text) != text.size()) __builtin_trap();
    sent += matcher.push(text);
  }
  sent += matcher.push(stream.finish());
  sent += matcher.finish();
  for (const char* stop : {"ab", "\xC3\xA5\xC3\xA5", "</s>"}) {
    if (sent.find(stop) != std::string::npos) __builtin_trap();
  }
  Utf8Stream whole;
  std::string expected = whole.push(bytes);
  expected += whole.finish();
  if (!matcher.matched() && sent != expected) __builtin_trap();
  return 0;
}
