// Bytes of a client -> requests. The same bytes must mean the same whatever pieces they come in, stay within the
// limits, and what is echoed of them must not break out of its header line. The first byte chooses the size of the
// pieces.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "http/origin_policy.h"
#include "http/request_reader.h"
#include "http/response_head.h"

namespace {

using takt::http::Request;
using takt::http::RequestReader;
using Progress = RequestReader::Progress;

void require(bool holds) {
  if (!holds) __builtin_trap();
}

takt::http::RequestLimits small_limits() {
  takt::http::RequestLimits limits;
  limits.target_bytes = 128;
  limits.head_bytes = 1024;
  limits.header_count = 10;
  limits.body_bytes = 2048;
  return limits;
}

struct Reading {
  std::vector<Request> requests;
  bool rejected = false;
};

Reading read(std::string_view bytes, std::size_t piece) {
  const auto limits = small_limits();
  RequestReader reader(limits);
  Reading reading;
  std::string buffer;
  while (!bytes.empty() && !reading.rejected) {
    buffer += bytes.substr(0, piece);
    bytes.remove_prefix(std::min(piece, bytes.size()));
    for (Progress progress = Progress::kHeadDone; progress != Progress::kNeedMore && !reading.rejected;) {
      std::size_t used = 0;
      progress = reader.feed(buffer, used);
      require(used <= buffer.size());
      buffer.erase(0, used);
      reading.rejected = progress == Progress::kRejected;
      if (progress == Progress::kComplete) reading.requests.push_back(reader.take());
    }
    require(reading.rejected || piece > limits.head_bytes || buffer.size() <= limits.head_bytes + piece);
  }
  return reading;
}

void check(const Request& request) {
  const auto limits = small_limits();
  require(request.body.size() <= limits.body_bytes && request.headers.size() <= limits.header_count);
  require(request.path.size() <= limits.target_bytes && !request.path.empty());
  takt::http::Framing framing;
  const takt::http::OriginPolicy policy({"loopback", "app://*"});
  if (policy.allows(request.header("origin"), request.header("host")))
    framing.extra = policy.answer_headers(request.header("origin"));
  std::string head;
  takt::http::append_head(head, takt::http::answer_preflight(request), framing, takt::http::BodyFraming::kNone, 0);
  require(head.find("\r\n\r\n") == head.size() - 4);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Reading whole = read(bytes, std::max<std::size_t>(1, bytes.size()));
  const Reading pieces = read(bytes, data[0] % 64 + 1);
  require(whole.rejected == pieces.rejected && whole.requests.size() == pieces.requests.size());
  for (std::size_t i = 0; i < whole.requests.size(); ++i) {
    require(whole.requests[i].path == pieces.requests[i].path && whole.requests[i].body == pieces.requests[i].body);
    require(whole.requests[i].headers == pieces.requests[i].headers);
    check(whole.requests[i]);
  }
  return 0;
}
