#include "api/sse_reader.h"

namespace takt::api {

Status SseReader::take_line(std::string_view line, const std::function<Status(std::string_view)>& on_event) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.empty()) {
    const Status status = has_data_ ? on_event(data_) : Status();
    data_.clear();
    has_data_ = false;
    return status;
  }
  constexpr std::string_view kData = "data:";
  if (!line.starts_with(kData)) return {};
  line.remove_prefix(kData.size());
  if (line.starts_with(' ')) line.remove_prefix(1);
  if (has_data_) data_ += '\n';
  data_ += line;
  has_data_ = true;
  return {};
}

Status SseReader::push(std::string_view bytes, const std::function<Status(std::string_view)>& on_event) {
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    if (line_.size() + piece.size() + data_.size() > kMaxEventBytes) {
      return Error{ErrorCode::kResourceExhausted,
                   "an event of the stream is larger than " + std::to_string(kMaxEventBytes) + " bytes",
                   {}};
    }
    if (end == std::string_view::npos) {
      line_ += piece;
      break;
    }
    bytes.remove_prefix(end + 1);
    Status status;
    if (line_.empty()) {
      status = take_line(piece, on_event);
    } else {
      line_ += piece;
      status = take_line(line_, on_event);
      line_.clear();
    }
    if (!status) return status;
  }
  return {};
}

}  // namespace takt::api
