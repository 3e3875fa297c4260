// Bytes of a server -> the answer that a load generator hears. The same bytes must mean the same whatever pieces they
// come in, and what is kept of them stays within its limit. The first byte chooses the size of the pieces.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "load/answer_intake.h"

namespace {

using takt::load::AnswerIntake;
using State = AnswerIntake::State;

void require(bool holds) {
  if (!holds) __builtin_trap();
}

struct Heard {
  int heads = 0;
  int status = 0;
  bool event_stream = false;
  double retry_after = 0.0;
  std::string body;
  State state = State::kMore;
};

// What is complete is equal. What is not has failed in both, perhaps by another name: pieces may show a fault that the
// whole hides behind an end that is missing.
bool agree(const Heard& a, const Heard& b) {
  if ((a.state == State::kDone) != (b.state == State::kDone)) return false;
  if (a.state != State::kDone) return a.body.starts_with(b.body) || b.body.starts_with(a.body);
  return a.heads == b.heads && a.status == b.status && a.event_stream == b.event_stream &&
         a.retry_after == b.retry_after && a.body == b.body;
}

// To the end of the answer, or of the bytes, which is that of the connection.
Heard hear(std::string_view bytes, std::size_t piece) {
  Heard heard;
  AnswerIntake intake;
  intake.begin(
      [&](const takt::load::ResponseHead& head) {
        ++heard.heads;
        heard.status = head.status;
        heard.event_stream = head.event_stream;
        heard.retry_after = head.retry_after_seconds.value_or(-1.0);
        require(!(heard.retry_after < -1.0));
      },
      [&](std::string_view body) { heard.body += body; });
  while (!bytes.empty() && heard.state == State::kMore) {
    const auto room = intake.room();
    require(!room.empty() && room.size() <= 2 * std::size_t{takt::load::HttpAnswerParser::kMaxHeadBytes});
    const std::size_t size = std::min({piece, room.size(), bytes.size()});
    std::memcpy(room.data(), bytes.data(), size);
    bytes.remove_prefix(size);
    heard.state = intake.take(size);
  }
  if (heard.state == State::kMore) heard.state = intake.end_of_stream();
  require(heard.heads <= 1 && (heard.body.empty() || heard.heads == 1));
  require(heard.state != State::kDone || heard.heads == 1);
  return heard;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  require(agree(hear(bytes, std::max<std::size_t>(1, bytes.size())), hear(bytes, 1 + data[0] % 64)));
  return 0;
}
