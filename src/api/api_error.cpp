#include "api/api_error.h"

#include <boost/json.hpp>

#include "api/utf8_text.h"

namespace takt::api {

namespace json = boost::json;

namespace {

constexpr std::uint32_t kRetrySoon = 1;

ApiError bad_request(const Error& error, std::string code) {
  return {400, "invalid_request_error", std::move(code), error.message, error.field, 0, {}};
}

std::string code_of(const Error& error, std::string_view otherwise) {
  return error.field.empty() ? std::string(otherwise) : error.field;
}

Error too_long(const std::string& tokens, std::uint32_t limit, std::string field) {
  return {ErrorCode::kContextLength,
          "The prompt has " + tokens + " tokens; a request may have " + std::to_string(limit) +
              ", prompt and at least one token of output together",
          std::move(field)};
}

}  // namespace

ApiError to_api_error(const Error& error) {
  const std::string& text = error.message;
  switch (error.code) {
    case ErrorCode::kInvalidArgument:
      return bad_request(error, "invalid_value");
    case ErrorCode::kUnsupported:
      return bad_request(error, "unsupported_value");
    case ErrorCode::kContextLength:
      return bad_request(error, "context_length_exceeded");
    case ErrorCode::kNotFound:
      return {
          404, "invalid_request_error", error.field == "model" ? "model_not_found" : "not_found", text, error.field, 0,
          {}};
    case ErrorCode::kResourceExhausted:
      return {429, "rate_limit_error", code_of(error, "rate_limit_exceeded"), text, {}, kRetrySoon, {}};
    case ErrorCode::kUnavailable:
      return {503, "overloaded_error", code_of(error, "server_overloaded"), text, {}, kRetrySoon, {}};
    case ErrorCode::kExpired:
      return {503, "overloaded_error", "queue_wait_expired", text, {}, kRetrySoon, {}};
    case ErrorCode::kCancelled:
      if (error.field == kSuperseded) return {409, "invalid_request_error", kSuperseded, text, {}, 0, {}};
      return {503, "server_error", "cancelled", text, {}, 0, {}};
    case ErrorCode::kIo:
    case ErrorCode::kInternal:
      break;
  }
  return {500, "server_error", "internal_error", text, {}, 0, {}};
}

ApiError unauthorized() {
  const char* message = "A valid API key is needed: send 'Authorization: Bearer KEY' or 'x-api-key: KEY'";
  return {401, "authentication_error", "invalid_api_key", message, {}, 0, {}};
}

ApiError admin_needed(bool server_has_keys) {
  const char* message =
      server_has_keys ? "This needs an admin key: one with the word 'admin' in the key file, or an --admin-key"
                      : "This needs an admin key, and the server has none: only a server that listens on loopback "
                        "lets callers on its own machine do this without one";
  return {403, "permission_error", "admin_key_needed", message, {}, 0, {}};
}

ApiError unknown_path(std::string_view path) {
  return {
      404, "invalid_request_error", "unknown_path", "There is nothing at " + std::string(path.substr(0, 128)), {}, 0,
      {}};
}

ApiError method_not_allowed(std::string_view method, std::string_view allowed) {
  std::string message =
      "The method " + std::string(method.substr(0, 16)) + " is not allowed here, only " + std::string(allowed);
  return {405, "invalid_request_error", "method_not_allowed", std::move(message), {}, 0, std::string(allowed)};
}

ApiError draining(std::uint32_t retry_after_seconds) {
  return {503, "overloaded_error", "draining", "The server is shutting down", {}, retry_after_seconds, {}};
}

ApiError http_error(int status, std::string_view reason) {
  ApiError error{status, "invalid_request_error", "bad_request", std::string(reason), {}, 0, {}};
  switch (status) {
    case 403:
      error.code = "forbidden_origin";
      break;
    case 408:
      error.code = "request_timeout";
      break;
    case 413:
      error.code = "request_too_large";
      break;
    case 414:
      error.code = "target_too_long";
      break;
    case 415:
      error.code = "unsupported_encoding";
      break;
    case 431:
      error.code = "headers_too_large";
      break;
    case 429:
      error.type = "rate_limit_error";
      error.code = "too_many_connections";
      error.retry_after_seconds = kRetrySoon;
      break;
    case 503:
      error.type = "overloaded_error";
      error.code = "too_many_connections";
      error.retry_after_seconds = kRetrySoon;
      break;
    default:
      if (status >= 500) {
        error.type = "server_error";
        error.code = status == 500 ? "internal_error" : "not_implemented";
      }
  }
  return error;
}

Error superseded() {
  return {ErrorCode::kCancelled, "A newer request with the same supersede key took this one's place", kSuperseded};
}

Error unknown_model(std::string_view asked, const std::vector<std::string>& available) {
  std::string message =
      "The model '" + std::string(asked.substr(0, 128)) + "' is not loaded, or not for this caller. There are: ";
  for (std::size_t i = 0; i < available.size(); ++i) message += (i > 0 ? ", " : "") + available[i];
  return {ErrorCode::kNotFound, std::move(message), "model"};
}

Error context_length_exceeded(std::uint64_t prompt_tokens, std::uint32_t limit, std::string field) {
  return too_long(std::to_string(prompt_tokens), limit, std::move(field));
}

Error context_length_far_exceeded(std::uint64_t more_than, std::uint32_t limit, std::string field) {
  return too_long("more than " + std::to_string(more_than), limit, std::move(field));
}

std::string error_body(const ApiError& error) {
  json::object fields;
  fields["message"] = to_utf8(error.message);
  fields["type"] = error.type;
  fields["param"] = error.param.empty() ? json::value(nullptr) : json::value(to_utf8(error.param));
  fields["code"] = error.code;
  return json::serialize(json::object{{"error", std::move(fields)}});
}

}  // namespace takt::api
