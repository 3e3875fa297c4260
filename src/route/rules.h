// The operator's rules: which class requests belong to that do not say so themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "route/options.h"

namespace takt::route {

// What rules look at.
struct RuleFacts {
  std::string_view key;  // its name
  std::string_view tenant;
  std::string_view application;
  std::string_view user;
  std::string_view model;
  std::string_view path;
  const std::vector<std::pair<std::string, std::string>>* headers = nullptr;  // x-takt-*, names in lower case
  std::uint64_t prompt_tokens = 0;
};

// `*` stands for any characters, none too; everything else for itself.
bool matches_pattern(std::string_view pattern, std::string_view text);

bool matches(const RuleOptions& rule, const RuleFacts& facts);

}  // namespace takt::route
