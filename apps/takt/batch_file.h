// Files of requests and of answers, a JSON object a line, as OpenAI's Batch API has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "http/handler.h"

namespace takt::app {

inline constexpr std::size_t kMaxCustomIdBytes = 512;

struct BatchRequest {
  std::uint64_t line = 0;  // from 1
  std::string custom_id;
  std::string path;  // /v1/chat/completions or /v1/completions
  std::string body;  // JSON, the bytes of the file
};

// Reads the lines {"custom_id", "method": "POST", "url", "body"} of a file; blank ones are passed over.
class BatchReader {
 public:
  explicit BatchReader(std::istream& in) : in_(in) {}

  // The next request; nothing at the end. Errors (kInvalidArgument) name the line and what is wrong with it; reading
  // may go on behind it.
  Result<std::optional<BatchRequest>> next();

 private:
  std::istream& in_;
  std::uint64_t line_ = 0;
};

// What is wrong with a file of requests, at most `most` of it: bad lines, ids that stand twice. `requests` counts the
// good ones.
struct BatchCheck {
  std::uint64_t requests = 0;
  std::vector<std::string> faults;
};
BatchCheck check_batch(std::istream& in, std::size_t most);

// The answer's line: {"id", "custom_id", "response": {"status_code", "request_id", "body"}, "error"}.
std::string batch_answer_line(const BatchRequest& request, const http::Response& response);

// The ids that a file of answers holds already. A last answer that was cut off does not count: it begins at
// `whole_bytes`. Errors (kInvalidArgument): a line that is no answer.
struct BatchAnswered {
  std::unordered_set<std::string> custom_ids;
  std::uint64_t whole_bytes = 0;
};
Result<BatchAnswered> read_answered(std::istream& in);

}  // namespace takt::app
