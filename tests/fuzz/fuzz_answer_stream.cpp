// Events of a stream -> what a load generator measures. The same bytes must mean the same whatever pieces they come in.
// The first byte chooses the size of the pieces.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/sse_reader.h"
#include "load/answer_events.h"
#include "load/answer_reader.h"
#include "load/token_event.h"

namespace {

void require(bool holds) {
  if (!holds) __builtin_trap();
}

template <typename Take>
void in_pieces(std::string_view bytes, std::size_t piece, Take take) {
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) take(bytes.substr(0, piece));
}

std::vector<std::string> events_of(std::string_view bytes, std::size_t piece) {
  std::vector<std::string> events;
  takt::api::SseReader reader;
  in_pieces(bytes, piece, [&](std::string_view part) {
    const auto status = reader.push(part, [&](std::string_view event) {
      events.emplace_back(event);
      return takt::Status();
    });
    require(static_cast<bool>(status));
  });
  return events;
}

struct Measured {
  takt::measure::AnswerSample sample;
  std::string text;
  bool operator==(const Measured& other) const {
    const auto& a = sample.record;
    const auto& b = other.sample.record;
    return text == other.text && a.outcome == b.outcome && sample.failure == other.sample.failure &&
           sample.detail == other.sample.detail && a.times.tokens == b.times.tokens &&
           sample.gaps == other.sample.gaps && sample.prompt_tokens == other.sample.prompt_tokens &&
           sample.output_tokens == other.sample.output_tokens && sample.queue == other.sample.queue;
  }
};

// The short way says what the long one says.
void read_both_ways(std::string_view event) {
  for (const bool keep_text : {false, true}) {
    takt::load::AnswerEvent token;
    if (!takt::load::read_token_event(event, keep_text, token)) continue;
    const auto read = takt::load::read_answer_event(event, keep_text);
    require(read && *read == token);
  }
}

Measured measure(std::string_view bytes, std::size_t piece, bool stream) {
  Measured measured;
  takt::load::AnswerReader reader(measured.sample, true);
  const takt::TimePoint at{};
  reader.head({200, stream, {}});
  in_pieces(bytes, piece, [&](std::string_view part) { reader.body(at, part); });
  reader.finish(at, takt::measure::Failure::kNone, {});
  require(reader.settled());
  const bool complete = measured.sample.record.outcome == takt::measure::Outcome::kComplete;
  require(complete == (measured.sample.failure == takt::measure::Failure::kNone));
  require(!complete || measured.sample.record.times.first_token.has_value());
  measured.text = reader.text();
  return measured;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t whole = std::max<std::size_t>(1, bytes.size());
  const std::size_t piece = 1 + data[0] % 64;
  const auto events = events_of(bytes, whole);
  require(events == events_of(bytes, piece));
  for (const auto& event : events) read_both_ways(event);
  read_both_ways(bytes);
  for (const bool stream : {true, false}) require(measure(bytes, whole, stream) == measure(bytes, piece, stream));
  return 0;
}
