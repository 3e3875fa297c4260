// A value or an error. Library code reports failure by these, never by aborting or exiting.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace takt {

enum class ErrorCode {
  kInvalidArgument,    // the caller's input is wrong; `field` names it
  kNotFound,           // no such model, file, request
  kContextLength,      // prompt (and output) do not fit the model's context
  kResourceExhausted,  // the caller's own limit is reached
  kUnavailable,        // the server or a tier is full, loading or draining
  kExpired,            // waited longer than allowed
  kCancelled,          // by the client
  kUnsupported,        // valid, but not offered here
  kIo,                 // files, sockets
  kInternal,           // a fault of ours
};

// Lower-case stable word for logs and JSON, e.g. "invalid_argument".
const char* to_string(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;  // one sentence for a person, with the limit that was broken
  std::string field;    // the input field or file key at fault; may be empty

  static Error invalid(std::string field, std::string message) {
    return {ErrorCode::kInvalidArgument, std::move(message), std::move(field)};
  }
  static Error internal(std::string message) { return {ErrorCode::kInternal, std::move(message), {}}; }
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  // Only when ok().
  T& value() & { return *std::get_if<0>(&state_); }
  const T& value() const& { return *std::get_if<0>(&state_); }
  T&& value() && { return std::move(*std::get_if<0>(&state_)); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }

  // Only when !ok().
  const Error& error() const { return *std::get_if<1>(&state_); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}
  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace takt
