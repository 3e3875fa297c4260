// Names as small numbers, in the order in which they came.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace takt::load {

class NameTable {
 public:
  std::uint32_t index(const std::string& name) {
    const auto [found, is_new] = by_name_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
    if (is_new) names_.push_back(name);
    return found->second;
  }
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::unordered_map<std::string, std::uint32_t> by_name_;
  std::vector<std::string> names_;
};

}  // namespace takt::load
