// What is said of a GGUF file that can't be right.
#pragma once

#include <string>
#include <utility>

#include "base/result.h"
#include "model/gguf.h"

namespace takt {

inline Error bad_gguf_file(std::string message) {
  return Error{ErrorCode::kInvalidArgument, std::move(message), "model"};
}
inline Error bad_gguf_key(const std::string& key, const std::string& message) {
  return Error{ErrorCode::kInvalidArgument, printable(key) + ": " + message, printable(key)};
}
inline Error bad_gguf_tensor(const std::string& name, const std::string& message) {
  return Error{ErrorCode::kInvalidArgument, "tensor " + printable(name) + ": " + message, printable(name)};
}

}  // namespace takt
