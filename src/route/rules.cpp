#include "route/rules.h"

#include <algorithm>

namespace takt::route {

namespace {

constexpr std::string_view kOurHeaders = "x-takt-";

bool any_matches(const std::vector<std::string>& patterns, std::string_view text) {
  return patterns.empty() || std::any_of(patterns.begin(), patterns.end(),
                                         [&](const std::string& pattern) { return matches_pattern(pattern, text); });
}

// "x-takt-task=summarise*" -> name and pattern of the value.
std::pair<std::string_view, std::string_view> split_header(std::string_view condition) {
  const std::size_t equals = condition.find('=');
  if (equals == std::string_view::npos) return {condition, {}};
  return {condition.substr(0, equals), condition.substr(equals + 1)};
}

bool header_matches(std::string_view condition, const RuleFacts& facts) {
  const auto [name, pattern] = split_header(condition);
  if (facts.headers == nullptr) return false;
  return std::any_of(facts.headers->begin(), facts.headers->end(), [&, name = name, pattern = pattern](const auto& h) {
    return h.first == name && matches_pattern(pattern, h.second);
  });
}

}  // namespace

bool matches_pattern(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;  // the last one passed, and how much of the text it stands for
  std::size_t star_text = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_text = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

Status check_rule(const RuleOptions& rule) {
  if (rule.service_class.empty()) return Error::invalid("class", "must name the class of what matches");
  if (rule.min_prompt_tokens > rule.max_prompt_tokens)
    return Error::invalid("min_prompt_tokens", "must be at most max_prompt_tokens: no prompt could match");
  for (const std::string& condition : rule.header) {
    const auto [name, pattern] = split_header(condition);
    const bool lower = std::none_of(name.begin(), name.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
    if (!name.starts_with(kOurHeaders) || !lower || condition.find('=') == std::string::npos) {
      return Error::invalid("header", "'" + condition + "' must be x-takt-NAME=PATTERN, the name in lower case");
    }
  }
  return {};
}

bool matches(const RuleOptions& rule, const RuleFacts& facts) {
  if (facts.prompt_tokens < rule.min_prompt_tokens || facts.prompt_tokens > rule.max_prompt_tokens) return false;
  if (!any_matches(rule.key, facts.key) || !any_matches(rule.tenant, facts.tenant)) return false;
  if (!any_matches(rule.application, facts.application) || !any_matches(rule.user, facts.user)) return false;
  if (!any_matches(rule.model, facts.model) || !any_matches(rule.path, facts.path)) return false;
  return rule.header.empty() || std::any_of(rule.header.begin(), rule.header.end(), [&](const std::string& condition) {
           return header_matches(condition, facts);
         });
}

}  // namespace takt::route
