// Numbers as messages for people have them.
#pragma once

#include <string>

namespace takt {

// Ten significant digits at most, and no zeros behind the last one that counts: "0.1", "16384", "1e+12".
std::string message_number(double value);

}  // namespace takt
