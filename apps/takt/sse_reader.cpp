#include "sse_reader.h"

#include <utility>

namespace takt::app {

void SseReader::take_line(std::string_view line, std::vector<std::string>& events) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.empty()) {
    if (has_data_) events.push_back(std::exchange(data_, {}));
    has_data_ = false;
    return;
  }
  constexpr std::string_view kData = "data:";
  if (!line.starts_with(kData)) return;
  line.remove_prefix(kData.size());
  if (line.starts_with(' ')) line.remove_prefix(1);
  if (has_data_) data_ += '\n';
  data_ += line;
  has_data_ = true;
}

Result<std::vector<std::string>> SseReader::push(std::string_view bytes) {
  std::vector<std::string> events;
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    line_ += bytes.substr(0, end);
    if (line_.size() + data_.size() > kMaxEventBytes) {
      return Error{ErrorCode::kResourceExhausted,
                   "an event of the stream is larger than " + std::to_string(kMaxEventBytes) + " bytes",
                   {}};
    }
    if (end == std::string_view::npos) break;
    take_line(line_, events);
    line_.clear();
    bytes.remove_prefix(end + 1);
  }
  return events;
}

}  // namespace takt::app
