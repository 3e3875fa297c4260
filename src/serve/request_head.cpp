#include "serve/request_head.h"

namespace takt::serve {

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

std::string supersede_key(const RequestLabels& labels, std::string_view key) {
  std::string name;
  // Lengths keep the parts apart, whatever they hold.
  for (const std::string_view part : {std::string_view(labels.tenant), std::string_view(labels.user)}) {
    name += std::to_string(part.size());
    name += ':';
    name += part;
  }
  name += key;
  return name;
}

}  // namespace takt::serve
