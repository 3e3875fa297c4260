#include "base/message_number.h"

#include <array>
#include <cstdio>

namespace takt {

std::string message_number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.10g", value);
  return text.data();
}

}  // namespace takt
