// Text from elsewhere (a model, a server, a file), fit for a terminal: it can be read, and it commands nothing.
#pragma once

#include <string>
#include <string_view>

#include "text/detokenizer.h"

namespace takt::app {

// For text that comes in pieces. Line feeds and tabs stay; carriage returns go; every other control character (C0, DEL
// and C1, so that no escape sequence is left) is shown by a sign of its own; what is not UTF-8 becomes U+FFFD.
class TerminalText {
 public:
  // What of these bytes can be shown now.
  std::string push(std::string_view bytes);
  // What is left at the end.
  std::string finish();

 private:
  Utf8Stream utf8_;
};

// A whole text as one line: line feeds and tabs become spaces too.
std::string terminal_line(std::string_view bytes);

}  // namespace takt::app
