// The status codes that say something of their own to who measures.
#pragma once

namespace takt::load::http_status {

inline constexpr int kOk = 200;
inline constexpr int kUnauthorized = 401;
inline constexpr int kForbidden = 403;
inline constexpr int kNotFound = 404;
inline constexpr int kTooManyRequests = 429;
inline constexpr int kFirstServerError = 500;
inline constexpr int kUnavailable = 503;

}  // namespace takt::load::http_status
