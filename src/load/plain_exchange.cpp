#include <array>
#include <cstdio>

#include "load/transport.h"

namespace takt::load {
namespace {

constexpr std::size_t kMaxPlainBytes = std::size_t{16} << 20;

std::string no_answer_within(Duration patience) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "no complete answer within %g s", to_seconds(patience));
  return text.data();
}

class PlainReader final : public ExchangeObserver {
 public:
  void on_head(TimePoint /*at*/, const ResponseHead& head) override { answer.status = head.status; }
  void on_body(TimePoint /*at*/, std::string_view bytes) override {
    if (answer.body.size() + bytes.size() > kMaxPlainBytes) {
      answer.failure = measure::Failure::kTooLarge;
      answer.detail = "the answer is larger than 16 MiB";
      done = true;
      return;
    }
    answer.body += bytes;
  }
  void on_end(TimePoint /*at*/, measure::Failure failure, const std::string& detail) override {
    answer.failure = failure;
    answer.detail = detail;
    over = done = true;
  }

  PlainAnswer answer;
  bool over = false;  // told so by the transport
  bool done = false;
};

}  // namespace

PlainAnswer exchange(Transport& transport, OutgoingRequest request, Duration patience) {
  PlainReader reader;
  const ExchangeId id = transport.send(std::move(request), reader);
  const TimerId timer = transport.call_at(transport.now() + patience, [&reader, patience] {
    if (reader.done) return;
    reader.answer.failure = measure::Failure::kTimeout;
    reader.answer.detail = no_answer_within(patience);
    reader.done = true;
  });
  transport.run_until([&reader] { return reader.done; });
  transport.cancel_call(timer);
  if (!reader.over) transport.abandon(id);
  return std::move(reader.answer);
}

}  // namespace takt::load
