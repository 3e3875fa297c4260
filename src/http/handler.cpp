#include "http/handler.h"

namespace takt::http {

std::string_view Request::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return {};
}

std::optional<Response> Handler::refuse_by_head(Request&) {
  return std::nullopt;
}

}  // namespace takt::http
