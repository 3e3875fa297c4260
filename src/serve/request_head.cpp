#include "serve/request_head.h"

#include <algorithm>
#include <iterator>

namespace takt::serve {

namespace {

constexpr std::size_t kShownBytes = 64;  // of a header's name

}  // namespace

route::Wishes wishes_of(const http::Request& head) {
  route::Wishes wishes;
  wishes.service_class = head.header("x-takt-class");
  wishes.tier = head.header("x-takt-tier");
  wishes.user = head.header("x-takt-user");
  wishes.tenant = head.header("x-takt-tenant");
  wishes.application = head.header("x-takt-app");
  wishes.deadline_ms = head.header("x-takt-deadline-ms");
  wishes.path = head.path;
  for (const auto& header : head.headers) {
    if (header.first.starts_with("x-takt-")) wishes.headers.push_back(header);
  }
  return wishes;
}

std::optional<Error> contradiction_in(const http::Request& head) {
  const auto decides = [](std::string_view name) {
    return name == "authorization" || name == "x-api-key" || name.starts_with("x-takt-");
  };
  for (auto first = head.headers.begin(); first != head.headers.end(); ++first) {
    if (!decides(first->first)) continue;
    const bool contradicted = std::any_of(std::next(first), head.headers.end(), [&](const auto& other) {
      return other.first == first->first && other.second != first->second;
    });
    if (contradicted)
      return Error::invalid(first->first, "The header '" + first->first.substr(0, kShownBytes) +
                                              "' stands there twice with different values");
  }
  return std::nullopt;
}

std::string supersede_key(const route::Subject& subject, std::string_view key) {
  std::string name;
  // Lengths keep the parts apart, whatever they hold.
  for (const std::string_view part : {std::string_view(subject.tenant), std::string_view(subject.user)}) {
    name += std::to_string(part.size());
    name += ':';
    name += part;
  }
  name += key;
  return name;
}

}  // namespace takt::serve
