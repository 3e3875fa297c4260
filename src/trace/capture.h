// Writes down every request for an answer, whatever became of it: docs/trace.md.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "core/event.h"
#include "core/request_watcher.h"
#include "trace/keyed_hash.h"
#include "trace/options.h"
#include "trace/record.h"
#include "trace/segments.h"
#include "trace/session_links.h"

namespace takt::trace {

struct CaptureCounts {
  std::uint64_t written = 0;        // records on their way to the disk or there
  std::uint64_t lost_to_queue = 0;  // the disk was slower than the requests
  std::uint64_t lost_to_disk = 0;   // it could not be written
};

// The events are to be published to it from another thread than the engine's. Nobody who calls waits for the disk: what
// cannot be kept is counted. A record goes to the disk when its request is over, within a second.
class Capture final : public EventSink, public RequestWatcher {
 public:
  struct Setting {
    CaptureOptions options;
    std::uint32_t block_tokens = 16;  // of the prompt's hashes
    std::string server;               // name and version
    WallClock wall = system_wall_nanoseconds;
    Duration gather = std::chrono::milliseconds(500);  // what comes within goes to the disk together
  };
  // Makes the folder, for its owner only, where there is none. The clock outlives this object and is that of the
  // events. Errors: kIo, kUnavailable: the folder or its secret (SecretFile).
  static Result<std::unique_ptr<Capture>> open(Setting setting, const Clock& clock);
  ~Capture() override;  // stop()
  // Writes what is over, and the requests that are not as failed: the server ends before them. What comes later is not
  // kept.
  void stop();

  // For the heads of later segments. `settings`: that are in effect, as JSON; may be empty. `kv_blocks`: of every
  // model's pool, by its name.
  void describe(const std::string& settings, const std::vector<std::pair<std::string, std::uint32_t>>& kv_blocks);

  void offered(const OfferedRequest& request) noexcept override;
  void refused(const RefusedRequest& request) noexcept override;
  void publish(const std::vector<Event>& events) noexcept override;

  CaptureCounts counts() const;

 private:
  struct Alive {
    Record record;
    TimePoint arrival;
    bool failed = false;
    bool closed = false;
    bool delivered = false;
    std::vector<TokenId> answer;  // only where text is kept
    std::function<std::string(std::span<const TokenId>)> text_of;
  };

  Capture(Setting setting, SecretFile secret, KeyedHash hash, const Clock& clock);
  Record begin_record(RequestId id, TimePoint arrival, const RequestLabels& labels, const RequestHints& hints);
  void apply(const Event& event);
  void on(Alive& alive, TimePoint at, const Accepted& event) const;
  void on(Alive& alive, TimePoint at, const Admitted& event) const;
  void on(Alive& alive, TimePoint at, const Seated& event) const;
  void on(Alive& alive, TimePoint at, const TokenSampled& event) const;
  void on(Alive& alive, TimePoint at, const ChoiceFinished& event) const;
  void on(Alive& alive, TimePoint at, const Closed& event) const;
  void on(Alive& alive, TimePoint at, const Delivered& event) const;
  void end_with_server(Alive& alive) const;
  void finish(Alive& alive);
  void put(const Record& record);

  void write_out();
  void write_lines(const std::string& lines, std::uint64_t records);

  const Setting setting_;
  const SecretFile secret_;
  const Clock& clock_;
  const TimePoint start_;

  mutable std::mutex mutex_;  // held for moments, never while the disk is written to
  KeyedHash hash_;
  SessionLinks sessions_;
  std::unordered_map<RequestId, Alive> alive_;
  std::string lines_;  // to be written
  std::uint64_t queued_records_ = 0;
  std::string configuration_;
  bool new_configuration_ = false;
  CaptureCounts counts_;
  bool closing_ = false;
  std::condition_variable has_lines_;

  Segments segments_;  // the writer's
  bool disk_fails_ = false;
  std::thread writer_;  // last: it uses all of the above
};

}  // namespace takt::trace
