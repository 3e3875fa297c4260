// Sizes for people.
#pragma once

#include <cstdint>
#include <string>

namespace takt::app {

// "512 bytes", "98 MB", "1.5 GB"
std::string readable_bytes(std::uint64_t bytes);

}  // namespace takt::app
